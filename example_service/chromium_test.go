package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/distlock-go/distlock/internal/child"
)

// screenshots is where the browser test writes what it sees.
var screenshots = flag.String("screenshots", "", "`directory` for screenshots of the pages")

// How long a failing test waits for a condition, and how long it may use a page.
const (
	waitAtMost = time.Minute
	pageAtMost = 4 * time.Minute
)

// startBrowser starts chromium and returns the context of its first tab. The test is
// skipped if there is no chromium; see [child.Need].
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	bin, err := child.LookPath("chromium", "needs chromium in PATH")
	child.Need(t, err)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(bin), chromedp.Flag("headless", "new"), chromedp.UserDataDir(t.TempDir()))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel) // waits for the end of the browser
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(t.Logf))
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// tab is a tab of the browser that shows a page.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu    sync.Mutex
	wrong []string // what the browser complains about
}

// openTab opens a new tab. The test fails if the browser has complained about the page
// until its end: errors, requests that failed, violations of the content security policy.
func openTab(browser context.Context, t *testing.T, url string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, pageAtMost)
	t.Cleanup(cancel)
	p := &tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, p.listen); err != nil {
		t.Fatal(err)
	}
	p.view(desktop, "light")
	p.open(url)
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.wrong) > 0 {
			t.Errorf("the browser complains:\n%s", strings.Join(p.wrong, "\n"))
		}
		if t.Failed() && ctx.Err() == nil {
			text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText + "\n" + `+inLocks(`.querySelector(".locks").innerText`)))
			t.Logf("the page shows, %v:\n%s", err, text)
		}
	})
	return p
}

// listen notes complaints. A request that is cancelled is not one: a page ends its
// streams when it is left.
func (p *tab) listen(ev any) {
	complaint := ""
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		complaint = "exception: " + e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			complaint += ": " + e.ExceptionDetails.Exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		args, _ := json.Marshal(e.Args)
		complaint = fmt.Sprintf("console.%s: %s", e.Type, args)
	case *cdplog.EventEntryAdded:
		complaint = fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *network.EventLoadingFailed:
		if !e.Canceled {
			complaint = "failed request: " + e.ErrorText
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			complaint = fmt.Sprintf("%d for %s", e.Response.Status, e.Response.URL)
		}
	}
	if complaint != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.wrong = append(p.wrong, complaint)
	}
}

// do runs actions.
func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) open(url string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url))
}

// focusOn gives an element the focus, as a script would.
func focusOn(element string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](`(` + element + `).focus()`)
}

// forgive removes expected complaints.
func (p *tab) forgive(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = slices.DeleteFunc(p.wrong, func(complaint string) bool { return strings.Contains(complaint, text) })
}

// eval returns the value of a JavaScript expression.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// wait waits until a JavaScript expression is true.
func (p *tab) wait(expression string) {
	p.t.Helper()
	_, err := chromedp.Run(p.ctx, chromedp.Poll[chromedp.Void](expression,
		chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(waitAtMost)))
	if err != nil {
		p.t.Fatalf("waited in vain for %s: %v", expression, err)
	}
}

// keys types on the keyboard.
func (p *tab) keys(keys string) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys))
}

// tabTo presses Tab until the element with the focus is the one that a JavaScript
// expression returns, and checks that a reader can see where the focus is.
func (p *tab) tabTo(element string) {
	p.t.Helper()
	for range 100 {
		p.keys(kb.Tab)
		if eval[bool](p, focused+` === (`+element+`)`) {
			if !eval[bool](p, `parseFloat(getComputedStyle(`+focused+`).outlineWidth) >= 2`) {
				p.t.Errorf("%s: the focus is not visible", element)
			}
			return
		}
	}
	p.t.Fatalf("the keyboard does not reach %s", element)
}

// focused is the element with the focus, also within another element's shadow.
const focused = `(document.activeElement.shadowRoot?.activeElement ?? document.activeElement)`

// Sizes of the window.
const (
	desktop = 1280
	phone   = 360
	height  = 800
)

// view sets the width of the window, and the theme: light or dark.
func (p *tab) view(width int64, theme string) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(width, height))
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// inspect checks the page in both themes on a desktop and on a phone: nothing sticks out,
// all text has contrast, everything that can be operated has a name. It writes screenshots
// if they are wanted.
func (p *tab) inspect(name string) {
	p.t.Helper()
	for _, width := range []int64{desktop, phone} {
		for _, theme := range []string{"light", "dark"} {
			p.view(width, theme)
			where := fmt.Sprintf("%s, %s, %d pixels", name, theme, width)
			p.wait(`document.getAnimations().length === 0`)
			if got := eval[int64](p, `document.scrollingElement.scrollWidth`); got > width {
				p.t.Errorf("%s: the page is %d pixels wide", where, got)
			}
			if faint := eval[[]string](p, faintText); len(faint) > 0 {
				p.t.Errorf("%s: too little contrast:\n%s", where, strings.Join(faint, "\n"))
			}
			p.shoot(fmt.Sprintf("%s-%s-%d", name, theme, width), chromedp.FullScreenshot(100))
		}
	}
	p.view(desktop, "light")
	for role, names := range p.controls() {
		for _, n := range names {
			if n == "" {
				p.t.Errorf("%s: a %s has no name for screen readers", name, role)
			}
		}
	}
}

// shoot writes a screenshot if screenshots are wanted.
func (p *tab) shoot(name string, how chromedp.Action[[]byte]) {
	p.t.Helper()
	if *screenshots == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, how)
	if err == nil {
		err = os.WriteFile(filepath.Join(*screenshots, name+".png"), png, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// controls returns what can be operated, as screen readers see it: the names of the
// elements of each role.
func (p *tab) controls() map[string][]string {
	p.t.Helper()
	tree, err := chromedp.Call(p.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		p.t.Fatal(err)
	}
	text := func(v *accessibility.Value) (s string) {
		if v != nil {
			_ = json.Unmarshal(v.Value, &s)
		}
		return s
	}
	names := map[string][]string{}
	for _, node := range tree.Nodes {
		switch role := text(node.Role); role {
		case "button", "link", "searchbox", "textbox", "table", "dialog", "image":
			if !node.Ignored {
				names[role] = append(names[role], text(node.Name))
			}
		}
	}
	return names
}

// faintText returns the visible texts whose contrast is less than 4.5, the minimum of
// WCAG 2 AA.
const faintText = `(() => {
	const rgba = (color) => {
		const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
		return { r, g, b, a };
	};
	const luminance = ({ r, g, b }) => {
		const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
		return 0.2126 * x + 0.7152 * y + 0.0722 * z;
	};
	const background = (e) => {
		for (; e; e = e.parentElement ?? e.getRootNode().host) {
			const color = rgba(getComputedStyle(e).backgroundColor);
			if (color.a === 1) return color;
		}
		return { r: 255, g: 255, b: 255 };
	};
	const faint = [];
	const check = (root) => {
		for (const e of root.querySelectorAll("*")) {
			if (e.shadowRoot) check(e.shadowRoot);
			const text = [...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE).map((n) => n.data).join("").trim();
			if (!text || !e.checkVisibility()) continue;
			const [a, b] = [luminance(rgba(getComputedStyle(e).color)), luminance(background(e))].sort((x, y) => y - x);
			const contrast = (a + 0.05) / (b + 0.05);
			if (contrast < 4.5) faint.push(contrast.toFixed(2) + ": " + text);
		}
	};
	check(document.body);
	return faint;
})()`
