package main

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/distlock-go/distlock/cmd/internal/doctor"
)

func doctorCommand(stdout io.Writer, hide func(string) string) *cli.Command {
	return storeCommand(30*time.Second, "print an object with store, worst and findings", &cli.Command{
		Name:  "doctor",
		Usage: "examine the store: what stands between it and the promises of the locks",
		Description: "It reads the settings and the state of the store, and takes locks with doctor in their keys, with\n" +
			"the rights of this user. It creates no tables and changes no settings.\n" +
			"A fault is a promise that does not hold, or locks that do not work. A warning is a promise that\n" +
			"depends on something that may not hold. The exit code is 0 without faults, 1 with faults or, with\n" +
			"-strict, with warnings, and 69 if the store does not answer.",
		UsageText: "distlock doctor [-backend URL] [-prefix orders:] [-strict] [-timeout 30s] [-json]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "prefix", Usage: "what the keys begin with: the user may have rights for these `KEYS` alone"},
			&cli.BoolFlag{Name: "strict", Usage: "exit with 1 if there are warnings, too"},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			rawURL, err := backendOf(c)
			if err != nil {
				return err
			}
			report, err := doctor.Examine(ctx, rawURL, c.String("prefix"))
			if err != nil {
				return err
			}
			for i := range report.Findings { // a server may quote what it got
				report.Findings[i].Seen = hide(report.Findings[i].Seen)
			}
			if c.Bool("json") {
				err = writeReportJSON(stdout, report)
			} else {
				err = report.Write(stdout)
			}
			if err != nil {
				return err
			}
			return verdict(report.Worst(), c.Bool("strict"))
		},
	})
}

// verdict returns an error that says nothing more if the worst finding is too bad.
func verdict(worst doctor.Severity, strict bool) error {
	if worst == doctor.Fault || worst == doctor.Warning && strict {
		return &exitError{code: exitFaults}
	}
	return nil
}

func writeReportJSON(w io.Writer, r *doctor.Report) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Worst doctor.Severity `json:"worst"`
		*doctor.Report
	}{r.Worst(), r})
}
