package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/wiring"
)

func keyCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name:  "key",
		Usage: "print the key of a lock with parameters",
		Description: "The parameters are those of the locked function. What is JSON is the value that it stands for: 42 is\n" +
			"a whole number, true a bool, '[\"a\",1]' a list, and '{\"OrderID\":42}' a struct with that field. The rest\n" +
			"is text, and '\"42\"' is, too: values from a path or a header are text, unless the program parses\n" +
			"them. Several parameters are a list. Without parameters the key is prefix and value.",
		UsageText: "distlock key [-prefix shop:] -value pay [-plain] [-text] [--] [parameters]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "prefix", Usage: "`TEXT` of Opts.Prefix"},
			&cli.StringFlag{Name: "value", Usage: "`TEXT` of Opts.Value"},
			&cli.BoolFlag{Name: "plain", Usage: "the lock has the Hasher distlock.Plain()"},
			&cli.BoolFlag{Name: "text", Usage: "all parameters are text"},
		},
		Action: func(_ context.Context, c *cli.Command) error {
			o := distlock.Opts{Prefix: c.String("prefix"), Value: c.String("value"), ParamLock: c.Args().Present()}
			if c.Bool("plain") {
				o.Hasher = distlock.Plain()
				if !o.ParamLock {
					return usageErrorf("-plain is for a lock with parameters, and there are none")
				}
			}
			if err := o.Validate(); err != nil {
				return err
			}
			key, err := wiring.Key(o, parameters(c.Args().Slice(), c.Bool("text")))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(stdout, key)
			return err
		},
	}
}

// parameters returns the value that the arguments of the command stand for.
func parameters(args []string, text bool) any {
	values := make([]any, len(args))
	for i, arg := range args {
		values[i] = arg
		if v, err := parseJSON(arg); err == nil && !text {
			values[i] = v
		}
	}
	if len(values) == 1 {
		return values[0]
	}
	return values
}

// parseJSON returns the Go value of a text, if it is JSON.
func parseJSON(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("more than one value")
	}
	return goValue(v), nil
}

// goValue returns whole numbers as integers, and objects as structs if their names are
// those of exported fields.
func goValue(v any) any {
	switch v := v.(type) {
	case json.Number:
		var n any = new(int64)
		if strings.ContainsAny(v.String(), ".eE") {
			n = new(float64)
		} else if _, err := v.Int64(); err != nil {
			n = new(uint64)
		}
		if json.Unmarshal([]byte(v), n) != nil {
			return v.String() // too large for a number
		}
		return reflect.ValueOf(n).Elem().Interface()
	case []any:
		for i := range v {
			v[i] = goValue(v[i])
		}
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		var fields []reflect.StructField
		for _, name := range names {
			v[name] = goValue(v[name])
			if token.IsIdentifier(name) && token.IsExported(name) {
				fields = append(fields, reflect.StructField{Name: name, Type: reflect.TypeFor[any]()})
			}
		}
		if len(fields) == 0 || len(fields) < len(v) {
			return v
		}
		s := reflect.New(reflect.StructOf(fields)).Elem()
		for i, name := range names {
			if v[name] != nil {
				s.Field(i).Set(reflect.ValueOf(v[name]))
			}
		}
		return s.Interface()
	}
	return v
}
