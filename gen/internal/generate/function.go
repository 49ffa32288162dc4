package generate

import (
	"fmt"
	"go/ast"
	"strconv"
	"strings"

	"github.com/distlock-go/distlock/gen/internal/directive"
)

// function writes the exported form of an annotated function or method.
func (f *file) function(s *site) {
	name, generated := s.Func.Name.Name, s.Generated()
	full, recv, receiver, call := name, "", "", name
	f.enter(s)
	if s.Func.Recv != nil {
		if recv = s.Receiver(); recv == "" {
			recv = f.variable("recv")
		}
		typ := s.Func.Recv.List[0].Type
		receiver = fmt.Sprintf("(%s %s) ", recv, f.source(typ))
		full = baseName(f.source(typ)) + "." + name
		call = recv + "." + name
	}
	generics := ""
	if list := s.Func.Type.TypeParams; list != nil {
		generics = f.typeParameters(list)
		call += "[" + strings.Join(s.TypeParams(), ", ") + "]"
	}
	var words strings.Builder
	words.WriteString("lock")
	for word := range strings.SplitSeq(full, ".") {
		words.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	site := f.fresh(words.String())
	f.printf("\nvar %s = %s.NewSite(%q, %s)\n", site, f.importing(wiringPath), full, f.options(s))
	f.printf("\n// %s is %s under the lock %s.\n", generated, full, s.describe())
	b := f.body(s, call)
	f.printf("func %s%s%s%s {\n", receiver, generated, generics, b.signature)
	b.write(f, fmt.Sprintf("%s.On(%s).Do(%s, %s, ", site, s.LockerOf(recv), b.ctx, b.key))
	f.printf("}\n")
}

// baseName returns the type's name without pointer, parentheses and type parameters.
func baseName(typ string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(typ, "*("), "[")
	return strings.TrimRight(name, ")")
}

// describe describes the key for a comment.
func (s *site) describe() string {
	o := s.Lock.Opts
	text := o.Prefix + o.Value
	if !o.ParamLock {
		return text
	}
	var parts []string
	for _, p := range s.Lock.Parts {
		parts = append(parts, p.Text())
	}
	if len(parts) == 0 {
		for i, p := range s.sig.Params {
			switch {
			case i == s.sig.Ctx:
			case p.Named():
				parts = append(parts, p.Name)
			default:
				parts = append(parts, "parameter "+strconv.Itoa(i+1))
			}
		}
	}
	return text + ", one for each " + strings.Join(parts, " and ")
}

// body has the parts that generated functions and methods share.
type body struct {
	signature string
	ctx       string // the context parameter
	key       string // the expression for the parameters of the key
	ctxType   string
	results   []string
	call      string
}

func (f *file) body(s *site, call string) *body {
	b := &body{ctxType: f.importing("context") + ".Context"}
	var params, args []string
	var passed []directive.Param
	for i, p := range s.sig.Params {
		if !p.Named() {
			p.Name = "p" + strconv.Itoa(i)
			if i == s.sig.Ctx {
				p.Name = "ctx"
			}
			p.Name = f.variable(p.Name)
		}
		typ, arg := f.source(p.Type), p.Name
		if p.Variadic {
			typ, arg = "..."+typ, p.Name+"..."
		}
		params, args = append(params, p.Name+" "+typ), append(args, arg)
		passed = append(passed, p)
	}
	b.ctx = passed[s.sig.Ctx].Name
	b.key = f.key(s, passed)
	b.call = call + "(" + strings.Join(args, ", ") + ")"

	last := len(s.sig.Results) - 1
	var results []string
	for i, p := range s.sig.Results {
		if !p.Named() {
			p.Name = "r" + strconv.Itoa(i)
			if i == last {
				p.Name = "err"
			}
			p.Name = f.variable(p.Name)
		}
		b.results = append(b.results, p.Name)
		results = append(results, p.Name+" "+f.source(p.Type))
	}
	b.signature = "(" + strings.Join(params, ", ") + ") (" + strings.Join(results, ", ") + ")"
	if last == 0 && !s.sig.Results[0].Named() {
		b.signature = "(" + strings.Join(params, ", ") + ") " + f.source(s.sig.Results[0].Type)
	}
	return b
}

// write writes the statements; do is the call without its last argument.
func (b *body) write(f *file, do string) {
	closure := fmt.Sprintf("func(%s %s) error {\n", b.ctx, b.ctxType)
	err := b.results[len(b.results)-1]
	if len(b.results) == 1 {
		f.printf("return %s%sreturn %s\n})\n", do, closure, b.call)
		return
	}
	f.printf("%s = %s%s%s = %s\nreturn %s\n})\n", err, do, closure, strings.Join(b.results, ", "), b.call, err)
	f.printf("return %s\n", strings.Join(b.results, ", "))
}

// key returns the expression for the parameters of the key: a single parameter stands
// for itself, several form a list, as everywhere in this module.
func (f *file) key(s *site, params []directive.Param) string {
	var parts []string
	switch {
	case !s.Lock.Opts.ParamLock:
		return "nil"
	case len(s.Lock.Parts) == 0:
		for i, p := range params {
			if i != s.sig.Ctx && !directive.IsContext(p.Go) {
				parts = append(parts, p.Name)
			}
		}
	default:
		for _, part := range s.Lock.Parts {
			parts = append(parts, part.Text())
		}
	}
	if len(parts) > 1 {
		return "[]any{" + strings.Join(parts, ", ") + "}"
	}
	return parts[0]
}

// typeParameters returns the declaration of type parameters, with brackets.
func (f *file) typeParameters(list *ast.FieldList) string {
	var fields []string
	for _, field := range list.List {
		var names []string
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
		fields = append(fields, strings.Join(names, ", ")+" "+f.source(field.Type))
	}
	return "[" + strings.Join(fields, ", ") + "]"
}
