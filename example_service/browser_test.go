package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/testkit"
	"github.com/distlock-go/distlock/internal/testmode"
	"github.com/distlock-go/distlock/lockui"
)

// TestPages looks at the page of the shop and at that of the locks in a real browser.
func TestPages(t *testing.T) {
	testmode.Long(t)
	browser := startBrowser(t)
	t.Run("shop", func(t *testing.T) { testShopPage(browser, t) })
	t.Run("locks", func(t *testing.T) { testLocksPage(browser, t) })
}

// testShopPage runs the three demonstrations by keyboard.
func testShopPage(browser context.Context, t *testing.T) {
	s := startService(t)
	p := openTab(browser, t, "http://"+s.http+"/")
	p.wait(`document.body.dataset.demo === "idle"`)
	if got := p.controls()["button"]; !slices.Equal(got, []string{"200 buyers with the lock", "200 buyers without", "Stop the holder"}) {
		t.Errorf("buttons: %q", got)
	}

	demonstrate(p, "locked", kb.Enter)
	if got, want := p.sale(), (shownSale{Stock: 0, Sold: 100}); got != want {
		t.Errorf("with the lock: %+v, want %+v", got, want)
	}
	if got := p.text("#locked .verdict"); got != "Exact: 100 sold, 100 told that it is sold out." {
		t.Errorf("with the lock: %s", got)
	}

	demonstrate(p, "stop", kb.Enter)
	if got, want := p.sale(), (shownSale{Stock: 99, Sold: 1}); got != want {
		t.Errorf("after the late write: %+v, want %+v; %s", got, want, p.text("#steps"))
	}
	if !eval[bool](p, `[...document.querySelectorAll("#steps .good")].some((step) => step.innerText.includes("refuses the write"))`) {
		t.Errorf("no step says that the late write was refused: %s", p.text("#steps"))
	}

	// On a busy machine a run may sell the right number by chance.
	for range 5 {
		demonstrate(p, "unlocked", " ")
		if p.sale().Oversold > 0 {
			break
		}
	}
	if got := p.sale(); got.Oversold < 1 || got.Oversold != got.Sold-100 {
		t.Errorf("without the lock: %+v, want more than 100 sold", got)
	}
	if got, want := p.text("#unlocked .verdict"), fmt.Sprintf("%d too many: ", p.sale().Oversold); len(got) < len(want) || got[:len(want)] != want {
		t.Errorf("without the lock: %s", got)
	}
	if got := p.text("#locked .verdict"); got != "Exact: 100 sold, 100 told that it is sold out." {
		t.Errorf("the result with the lock is no longer there: %s", got)
	}
	// The table of locks has the key that was held, and does not let it be released.
	p.wait(inLocks(`.querySelector(".key")?.textContent.startsWith("shop:item:")`))
	p.do(focusOn(inLocks(`.querySelector(".key")`)))
	p.keys(kb.Enter)
	p.wait(inLocks(`.querySelector(".history").checkVisibility()`))
	if eval[bool](p, inLocks(`.querySelector(".release").checkVisibility()`)) {
		t.Error("the page offers to release a key")
	}
	p.inspect("shop")

	// docs/shop.png: everything above the locks.
	p.do(chromedp.EmulateViewport(desktop, eval[int64](p, `Math.round(document.querySelector(".story").getBoundingClientRect().bottom + scrollY) + 24`)))
	p.do(chromedp.Evaluate[chromedp.Void](`scrollTo(0, 0)`))
	p.shoot("picture", chromedp.CaptureScreenshot())
}

// shownSale is what the page says about the sale.
type shownSale struct{ Stock, Sold, Oversold int }

func (p *tab) sale() shownSale {
	p.t.Helper()
	return eval[shownSale](p, `Object.fromEntries(["Stock", "Sold", "Oversold"].map(
		(id) => [id, Number(document.getElementById(id.toLowerCase()).textContent)]))`)
}

func (p *tab) text(selector string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf(`document.querySelector(%q).innerText`, selector))
}

// demonstrate presses the button of a demonstration with a key, and waits for its end.
func demonstrate(p *tab, name, key string) {
	p.t.Helper()
	run := eval[int](p, `Number(document.body.dataset.run)`)
	p.tabTo(fmt.Sprintf(`document.querySelector("button[data-demo=%s]")`, name))
	p.keys(key)
	p.wait(fmt.Sprintf(`Number(document.body.dataset.run) > %d && document.body.dataset.demo === "idle"`, run))
}

// testLocksPage searches, watches and releases keys.
func testLocksPage(browser context.Context, t *testing.T) {
	store := testkit.NewStore()
	l := testkit.NewLocker(t, store, distlock.Config{Holder: "web-3/4711"})
	asked := make(chan string, 10)
	ui := lockui.New(l, lockui.WithForceRelease(func(_ *http.Request, key string) error {
		asked <- key
		if key == "leader:report" {
			return errors.New("not this one")
		}
		return nil
	}))
	mux := http.NewServeMux()
	mux.Handle("/admin/locks/", http.StripPrefix("/admin/locks", ui))
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		ui.Close()
		server.Close()
	})
	acquire := func(key string) *distlock.Lease {
		t.Helper()
		lease := testkit.MustAcquire(t, l, key, distlock.Opts{})
		t.Cleanup(func() { _ = lease.Release(context.Background()) })
		return lease
	}
	stock := acquire("shop:item:tea")
	acquire("leader:report")

	p := openTab(browser, t, server.URL+"/admin/locks/")
	p.wait(shownKeys + ` === "leader:report shop:item:tea"`)

	// Search.
	p.tabTo(inLocks(`.querySelector("[type=search]")`))
	p.keys(stock.Fingerprint())
	p.wait(shownKeys + ` === "shop:item:tea"`)
	p.keys("x")
	p.wait(inLocks(`.querySelector(".empty").innerText.startsWith("Nothing matches")`))
	p.keys(kb.Escape) // empties a search box
	p.wait(shownKeys + ` === "leader:report shop:item:tea"`)

	// History.
	p.tabTo(key("shop:item:tea"))
	p.keys(kb.Enter)
	p.wait(history(1, fmt.Sprint("token ", stock.Token())))
	if err := stock.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.wait(inLocks(`.querySelectorAll(".free").length === 1`))
	next := acquire("shop:item:tea")
	p.wait(history(2, fmt.Sprint("token ", next.Token())))

	// Release.
	dialog := inLocks(`.querySelector("dialog")`)
	p.tabTo(visibleRelease)
	p.keys(kb.Enter)
	p.wait(dialog + `.open && ` + focused + `.textContent === "Keep it"`)
	if question := eval[string](p, dialog+`.querySelector("h2").innerText`); question != "Take shop:item:tea away from web-3/4711?" {
		t.Error(question)
	}
	if got := p.controls()["dialog"]; len(got) != 1 || got[0] == "" {
		t.Errorf("dialogs: %q", got)
	}
	p.keys(kb.Escape)
	p.wait(`!` + dialog + `.open && ` + focused + ` === ` + visibleRelease)
	if len(asked) > 0 {
		t.Errorf("released without confirmation: %s", <-asked)
	}
	p.keys(kb.Enter)
	p.wait(dialog + `.open`)
	p.keys(kb.Tab + kb.Enter)
	p.wait(says("shop:item:tea was released."))
	if err := next.Refresh(t.Context()); !errors.Is(err, distlock.ErrLost) {
		t.Errorf("after the release its holder learns: %v", err)
	}
	if got := <-asked; got != "shop:item:tea" {
		t.Errorf("asked about %s", got)
	}
	p.wait(inLocks(`.querySelectorAll(".free").length === 1`))

	// A release that is refused. The browser complains about the answer, 403.
	p.do(focusOn(key("leader:report")))
	p.keys(kb.Enter)
	p.inspect("locks")
	p.tabTo(visibleRelease)
	p.keys(kb.Enter)
	p.wait(dialog + `.open`)
	p.keys(kb.Tab + kb.Enter)
	p.wait(says("leader:report was not released: this request may not release the key."))
	p.forgive("403")

	// The store goes away, and comes back.
	store.Fail(testkit.ErrBroken, testkit.Inspect)
	p.wait(inLocks(`.querySelector("[role=status]").innerText.startsWith("The store does not answer (unavailable). This is the state of ")`))
	store.Fail(nil)
	p.wait(says(""))

	// A key that would look like another one.
	acquire("shop:\u202eaet")
	p.open(server.URL + "/admin/locks/?prefix=shop:")
	p.wait(shownKeys + ` === "shop:\\u{202e}aet"`)

	// The page of a prefix.
	p.open(server.URL + "/admin/locks/?prefix=leader:")
	p.wait(shownKeys + ` === "leader:report"`)

	// The page of a key.
	p.open(server.URL + "/admin/locks/key?name=leader:report")
	p.wait(shownKeys + ` === "leader:report"`)
	p.wait(history(1, "token "))
	p.inspect("key")
}

// inLocks returns an expression about the content of the table of locks.
func inLocks(expression string) string {
	return `document.querySelector("distlock-locks").shadowRoot` + expression
}

var (
	shownKeys = inLocks(`.querySelectorAll(".key")`) + `.values().filter((k) => k.checkVisibility()).map((k) => k.textContent).toArray().join(" ")`

	visibleRelease = `[...` + inLocks(`.querySelectorAll(".release")`) + `].findLast((b) => b.checkVisibility())`
)

// key returns the button of a key.
func key(name string) string {
	return `[...` + inLocks(`.querySelectorAll(".key")`) + fmt.Sprintf(`].find((k) => k.textContent === %q)`, name)
}

// history says that the visible history has n entries, and that the newest contains a
// text.
func history(n int, text string) string {
	return `(() => {
		const list = [...` + inLocks(`.querySelectorAll(".history")`) + `].find((h) => h.checkVisibility());
		return ` + fmt.Sprintf(`list?.children.length === %d && list.children[0].innerText.includes(%q)`, n, text) + `;
	})()`
}

// says tells whether the page says a text.
func says(text string) string {
	return inLocks(fmt.Sprintf(`.querySelector("[role=status]").innerText === %q`, text))
}
