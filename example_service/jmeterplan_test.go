package main

import (
	"encoding/xml"
	"os"
	"slices"
	"strings"
	"testing"
)

// element is an element of JMeter's plan. A hashTree has elements, each followed by the
// hashTree of what is below it.
type element struct {
	XMLName  xml.Name
	Name     string    `xml:"name,attr"`
	TestName string    `xml:"testname,attr"`
	Enabled  string    `xml:"enabled,attr"`
	Text     string    `xml:",chardata"`
	Elements []element `xml:",any"`
}

// prop returns the text of the property with that name, at any depth.
func (e element) prop(name string) (text string) {
	e.walk(func(p element) {
		if p.Name == name {
			text = p.Text
		}
	})
	return text
}

func (e element) walk(f func(element)) {
	f(e)
	for _, sub := range e.Elements {
		sub.walk(f)
	}
}

// below returns the elements of a kind that are directly in a hashTree, each with its
// own hashTree.
func (e element) below(kind string) (found [][2]element) {
	for i, sub := range e.Elements {
		if sub.XMLName.Local == kind {
			found = append(found, [2]element{sub, e.Elements[i+1]})
		}
	}
	return found
}

// only is below for a kind that there is exactly once.
func (e element) only(t *testing.T, kind string) (element, element) {
	t.Helper()
	found := e.below(kind)
	if len(found) != 1 {
		t.Fatalf("%d elements %s, want 1", len(found), kind)
	}
	return found[0][0], found[0][1]
}

// TestJMeterPlan reads jmeter/shop.jmx. The plan restarts the sale, orders at a route
// that is a property, and asserts the stock.
func TestJMeterPlan(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("jmeter/shop.jmx")
	if err != nil {
		t.Fatal(err)
	}
	var file element
	if err := xml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	file.walk(func(e element) {
		if e.Enabled == "false" {
			t.Errorf("%s %q is switched off", e.XMLName.Local, e.TestName)
		}
		if e.Name != "HTTPSampler.path" && strings.HasPrefix(e.Text, "/") || strings.Contains(e.Text, "file:") || strings.Contains(e.Text, `:\`) {
			t.Errorf("%s %q has an absolute path: %s", e.XMLName.Local, e.Name, e.Text)
		}
	})

	plan, tree := file.Elements[0].only(t, "TestPlan")
	for name, want := range map[string]string{
		"users": "${__P(users,1000)}", "loops": "${__P(loops,10)}", "route": "${__P(route,)}",
	} {
		found := ""
		plan.walk(func(e element) {
			if e.Name == name {
				found = e.prop("Argument.value")
			}
		})
		if found != want {
			t.Errorf("the setting %s is %q, want %q", name, found, want)
		}
	}

	before := samplerOf(t, tree, "SetupThreadGroup", "PUT", "/items/${sku}")
	if body := before.sampler.prop("Argument.value"); body != `{"stock":${__jexl3(${users} * ${loops})}}` {
		t.Errorf("the sale begins with %s", body)
	}

	users := samplerOf(t, tree, "ThreadGroup", "POST", "${route}/items/${sku}/orders")
	if n, loops := users.group.prop("ThreadGroup.num_threads"), users.group.prop("LoopController.loops"); n != "${users}" || loops != "${loops}" {
		t.Errorf("%s users x %s loops", n, loops)
	}
	if assertion, _ := users.tree.only(t, "ResponseAssertion"); assertion.prop("201") != "201" {
		t.Error("an order need not be sold")
	}

	after := samplerOf(t, tree, "PostThreadGroup", "GET", "/items/${sku}")
	assertion, _ := after.tree.only(t, "JSONPathAssertion")
	for name, want := range map[string]string{
		"JSON_PATH": "$.stock", "EXPECTED_VALUE": "0", "JSONVALIDATION": "true", "INVERT": "false", "ISREGEX": "false", "EXPECT_NULL": "false",
	} {
		if got := assertion.prop(name); got != want {
			t.Errorf("the assertion about the stock: %s is %q, want %q", name, got, want)
		}
	}
}

// jmeterSampler is the only sampler of a thread group.
type jmeterSampler struct{ group, sampler, tree element }

// samplerOf finds the sampler of the only thread group of a kind, and checks that its
// requests are in the table of routes: orders with and without the lock.
func samplerOf(t *testing.T, plan element, kind, method, path string) (s jmeterSampler) {
	t.Helper()
	group, tree := plan.only(t, kind)
	s.group = group
	s.sampler, s.tree = tree.only(t, "HTTPSamplerProxy")
	if m, p := s.sampler.prop("HTTPSampler.method"), s.sampler.prop("HTTPSampler.path"); m != method || p != path {
		t.Fatalf("%s: %s %s, want %s %s", kind, m, p, method, path)
	}
	pattern := strings.ReplaceAll(path, "${sku}", "{sku}")
	for prefix, lock := range map[string]string{"": "sku", "/unlocked": unlocked} {
		if !strings.Contains(path, "${route}") {
			lock = unlocked
		}
		want := strings.ReplaceAll(pattern, "${route}", prefix)
		if !slices.ContainsFunc((&httpAPI{}).routes(), func(rt route) bool {
			return rt.method == method && rt.pattern == want && rt.lock == lock
		}) {
			t.Errorf("%s %s with the lock %q is not in the table of routes", method, want, lock)
		}
	}
	return s
}
