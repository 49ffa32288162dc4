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
	samples atomic.Int64
	quit    chan struct{}
	drawing sync.WaitGroup
}

// newProgress starts a progress bar for a run. The bar is drawn only if w is a
// terminal.
func newProgress(w io.Writer, label string, total int64) *progress {
	p := &progress{quit: make(chan struct{})}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return p
	}
	bar := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(label),
		progressbar.OptionShowCount(),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetPredictTime(true),
	)
	p.drawing.Go(func() { p.draw(bar) })
	return p
}

func (p *progress) draw(bar *progressbar.ProgressBar) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		// A failed write to the terminal does not matter.
		select {
		case <-ticker.C:
			_ = bar.Set64(p.samples.Load())
		case <-p.quit:
			_ = bar.Clear()
			return
		}
	}
}

// add counts a sample.
func (p *progress) add() { p.samples.Add(1) }

// close removes the bar.
func (p *progress) close() {
	close(p.quit)
	p.drawing.Wait()
}
