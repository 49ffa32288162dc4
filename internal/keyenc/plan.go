package keyenc

import (
	"reflect"
	"sync"
)

// op says how values of a type are encoded.
type op uint8

const (
	opRefuse op = iota
	opPointer
	opInterface
	opBool
	opInt
	opUint
	opFloat
	opString
	opNumber // a json.Number, which is a string
	opBytes
	opMethod
	opList
	opMap
	opStruct
)

// typePlan is what is known about the encoding of a type before there is a value.
// It does not change after planOf has returned it.
type typePlan struct {
	typ    reflect.Type
	op     op
	copied bool        // the method has a pointer receiver, so a value without an address is copied
	elem   *typePlan   // of pointers, lists and maps
	key    *typePlan   // of maps
	fields []planField // of structs, in their order
	valid  []int       // of sql.NullString and the like: the field Valid

	refused *paramError // why values of this type itself cannot be encoded
	fault   *paramError // the first refusal among the types that this one contains, with its path
}

type planField struct {
	name  string
	index int
	plan  *typePlan
}

var plans sync.Map // reflect.Type -> *typePlan

// planOf returns the plan of t. It makes it once, or a few times if goroutines
// race for it; the plans are equal.
func planOf(t reflect.Type) *typePlan {
	if p, ok := plans.Load(t); ok {
		return p.(*typePlan)
	}
	made := planner{}
	root := made.plan(planKey{typ: t})
	// Types may be recursive, so the search for faults starts when all plans are
	// complete, and no incomplete plan is published. All plans are reachable from
	// root: if it has no fault, none of them has.
	if root.find(map[*typePlan]bool{}) != nil {
		for _, p := range made {
			p.fault = p.find(map[*typePlan]bool{})
		}
	}
	for k, p := range made {
		if !k.bare {
			plans.LoadOrStore(k.typ, p)
		}
	}
	return root
}

// CheckType returns an error if no value of type t can be encoded. It cannot see
// through interfaces.
func CheckType(t reflect.Type) error {
	if fault := planOf(t).fault; fault != nil {
		return fault.within(rootName(t))
	}
	return nil
}

// find returns the first refusal in p or below it.
func (p *typePlan) find(seen map[*typePlan]bool) *paramError {
	if p.refused != nil || seen[p] {
		return p.refused
	}
	seen[p] = true
	parts := []planField{{name: "[key]", plan: p.key}, {name: "[]", plan: p.elem}}
	if p.op == opPointer {
		parts[1].name = ""
	}
	for _, f := range p.fields {
		parts = append(parts, planField{name: "." + f.name, plan: f.plan})
	}
	for _, part := range parts {
		if part.plan == nil {
			continue
		}
		if fault := part.plan.find(seen); fault != nil {
			return fault.within(part.name)
		}
	}
	return nil
}

// blame returns the error of a method of p's type.
func (p *typePlan) blame(what string, err error) *paramError {
	return &paramError{what: p.typ.String() + ": " + what, err: err}
}

// receiver returns v in a form that has p's method, without an allocation if
// possible.
func (p *typePlan) receiver(v reflect.Value) any {
	switch {
	case v.CanAddr():
		return v.Addr().Interface()
	case p.copied:
		c := reflect.New(p.typ)
		c.Elem().Set(v)
		return c.Interface()
	default:
		return v.Interface()
	}
}

// planner holds the plans that are not complete yet.
type planner map[planKey]*typePlan

type planKey struct {
	typ reflect.Type
	// bare is set for an embedded struct of an unexported type, or a pointer to one. Its
	// exported fields can be read, but its methods cannot be called.
	bare bool
}

func (made planner) plan(k planKey) *typePlan {
	if p, ok := plans.Load(k.typ); ok && !k.bare {
		return p.(*typePlan)
	}
	if p, ok := made[k]; ok {
		return p
	}
	p := &typePlan{typ: k.typ}
	made[k] = p
	switch {
	case !k.bare:
		made.fill(p)
	case k.typ.Kind() == reflect.Pointer:
		p.op, p.elem = opPointer, made.plan(planKey{k.typ.Elem(), true})
	default:
		made.structure(p, true)
	}
	return p
}

// fill decides how p.typ is encoded. The order of the cases is the precedence.
func (made planner) fill(p *typePlan) {
	t := p.typ
	switch {
	case hasMethod(t, lockKeyerType):
		p.op, p.copied = opMethod, !t.Implements(lockKeyerType)
	case isContext(t):
		p.refuse("a context is not a parameter")
	case t == skipType:
		p.refuse("Skip is not a parameter")
	case t == timeType, t == addrType:
		p.op = opMethod
	case t == numberType:
		p.op = opNumber
	case t.Kind() == reflect.Struct && (encodesFields(t) || isNullable(t)):
		made.structure(p, false)
	case hasMethod(t, asTimerType), hasMethod(t, textType):
		p.op, p.copied = opMethod, !t.Implements(asTimerType) && !t.Implements(textType)
	default:
		made.fillKind(p)
		// The text of an enum is its name. Strings are text already, and other types may
		// print what is different in each process.
		if (p.op == opInt || p.op == opUint || p.op == opBytes) && hasMethod(t, stringerType) {
			p.op, p.copied = opMethod, !t.Implements(stringerType)
		}
	}
}

// isNullable reports whether t is like sql.NullString. The text of one without a value may be
// that of a value: uuid.NullUUID has "null".
func isNullable(t reflect.Type) bool {
	return t.NumField() == 2 && t.Field(1).Name == "Valid" && t.Field(1).Type.Kind() == reflect.Bool && hasMethod(t, valuerType)
}

func (made planner) fillKind(p *typePlan) {
	t := p.typ
	switch t.Kind() {
	case reflect.Bool:
		p.op = opBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.op = opInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		p.op = opUint
	case reflect.Float32, reflect.Float64:
		p.op = opFloat
	case reflect.String:
		p.op = opString
	case reflect.Interface:
		p.op = opInterface
	case reflect.Pointer:
		p.op, p.elem = opPointer, made.plan(planKey{typ: t.Elem()})
	case reflect.Slice, reflect.Array:
		p.op, p.elem = opList, made.plan(planKey{typ: t.Elem()})
		if t.Elem().Kind() == reflect.Uint8 && p.elem.op == opUint { // a byte type without a method
			p.op, p.elem = opBytes, nil
		}
	case reflect.Map:
		p.op, p.key, p.elem = opMap, made.plan(planKey{typ: t.Key()}), made.plan(planKey{typ: t.Elem()})
	case reflect.Struct:
		made.structure(p, false)
	default: // functions, channels and addresses have no meaning in another process; nobody locks complex numbers
		p.refuse(t.String() + " cannot take part in a key; leave it out with `lock:\"-\"`")
	}
}

func (p *typePlan) refuse(what string) {
	p.op, p.refused = opRefuse, &paramError{what: what}
}

// structure makes p the plan of a struct that is encoded by its fields.
func (made planner) structure(p *typePlan, bare bool) {
	t := p.typ
	fields, err := structFields(t)
	switch {
	case err != nil:
		p.op, p.refused = opRefuse, err
		return
	case len(fields) == 0 && t.NumField() > 0 && !bare && !emptyMessage(t):
		p.refuse(t.String() + " has no field that takes part in a key: unexported fields do not; give it a method LockKey() string or leave it out with `lock:\"-\"`")
		return
	}
	p.op = opStruct
	if len(fields) == 2 && fields[1].Name == "Valid" && fields[1].Type.Kind() == reflect.Bool && hasMethod(t, valuerType) {
		p.valid, fields = fields[1].Index, fields[:1]
	}
	for _, f := range fields {
		p.fields = append(p.fields, planField{f.Name, f.Index[0], made.plan(planKey{f.Type, !f.IsExported()})})
	}
}
