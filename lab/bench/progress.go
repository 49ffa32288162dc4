package main

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows on a terminal how far a run is. Users only count samples; one
// goroutine draws.
type progress struct {
	label           string
	samples, errors atomic.Int64
	quit            chan struct{}
	drawing         sync.WaitGroup
}

// newProgress starts a progress bar for a run. The bar is drawn only if w is a
// terminal.
func newProgress(w io.Writer, label string, total int64) *progress {
	p := &progress{label: label, quit: make(chan struct{})}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.drawing.Go(func() { p.draw(newBar(w, total)) })
	}
	return p
}

func newBar(w io.Writer, total int64) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(), // samples per second
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetPredictTime(true),
	)
}

func (p *progress) draw(bar *progressbar.ProgressBar) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		// A failed write to the terminal does not matter.
		select {
		case <-ticker.C:
			p.show(bar)
		case <-p.quit:
			_ = bar.Clear()
			return
		}
	}
}

func (p *progress) show(bar *progressbar.ProgressBar) {
	bar.Describe(p.label + ", errors " + group(p.errors.Load()))
	_ = bar.Set64(p.samples.Load())
}

// add counts a sample.
func (p *progress) add(ok bool) {
	p.samples.Add(1)
	if !ok {
		p.errors.Add(1)
	}
}

// close removes the bar.
func (p *progress) close() {
	close(p.quit)
	p.drawing.Wait()
}
