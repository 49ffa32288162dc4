package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// jmeter is a JMeter that is installed below target.
type jmeter struct{ progress io.Writer }

// fetch installs JMeter: Maven gets it from Maven Central, or from its own cache.
func fetch(ctx context.Context, progress io.Writer) (*jmeter, error) {
	j := &jmeter{progress: progress}
	if err := j.command(ctx, "mvn", "--batch-mode", "--quiet", "package").Run(); err != nil {
		return nil, fmt.Errorf("Maven does not fetch JMeter: %w", err)
	}
	// JMeter complains if the directories for plugins are missing.
	for _, plugins := range []string{"ext", "junit"} {
		if err := os.MkdirAll(filepath.Join(target, "jmeter", "lib", plugins), 0o750); err != nil {
			return nil, err
		}
	}
	return j, nil
}

func (j *jmeter) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = j.progress, j.progress
	return cmd
}

// run runs JMeter without its window. It succeeds also if samples fail. dir gets the
// log and, in report, the report of the samples.
func (j *jmeter) run(ctx context.Context, l load, dir string, args ...string) error {
	args = append([]string{
		"-Xmx2g",
		"-Djmeter.home=" + filepath.Join(target, "jmeter"),
		"-Djava.util.prefs.userRoot=" + target, // not the home directory
		"-cp", filepath.Join(target, "jmeter", "lib", "*"), "org.apache.jmeter.NewDriver",
		"-j", filepath.Join(dir, "jmeter.log"), "-o", filepath.Join(dir, "report"),
		"-Jjmeterengine.nongui.port=0", // no port for commands
		// By default the percentiles are those of the last 20,000 samples.
		"-Jjmeter.reportgenerator.statistic_window=" + strconv.Itoa(2*l.orders()+2),
	}, args...)
	if err := j.command(ctx, "java", args...).Run(); err != nil {
		return fmt.Errorf("JMeter: %w; see %s", err, filepath.Join(dir, "jmeter.log"))
	}
	return nil
}

// planRun is the result of a run of shop.jmx.
type planRun struct {
	figures figures // of the orders
	samples samples
}

// runPlan runs shop.jmx on the service, with the orders at route. Its files are in
// target/name.
func (j *jmeter) runPlan(ctx context.Context, l load, s *shop, name, route string) (r planRun, err error) {
	dir, err := emptyDir(name)
	if err != nil {
		return r, err
	}
	jtl := filepath.Join(dir, "samples.jtl")
	err = j.run(ctx, l, dir, "-n", "-t", "shop.jmx", "-l", jtl, "-e", "-Jhost="+s.host, "-Jport="+s.port,
		"-Jroute="+route, "-Jusers="+strconv.Itoa(l.users), "-Jloops="+strconv.Itoa(l.loops))
	if err != nil {
		return r, err
	}
	if r.samples, err = readSamples(jtl); err != nil {
		return r, err
	}
	of, err := readStatistics(filepath.Join(dir, "report", "statistics.json"))
	r.figures = of["order"]
	return r, err
}

// runBench puts the same load on the service with bench, with the lock and then without.
// It returns bench's figures, those of JMeter's report of the same samples, and the
// samples. The files are in target/bench.
func (j *jmeter) runBench(ctx context.Context, l load, s *shop) (ours, theirs [2]figures, all [2]samples, err error) {
	dir, err := emptyDir("bench")
	if err != nil {
		return ours, theirs, all, err
	}
	jtl, results := filepath.Join(dir, "samples.jtl"), filepath.Join(dir, "results.json")
	args := append(l.args(), "-plan", "http", "-target", s.url(), "-jtl", jtl, "-json", results)
	if err = j.command(ctx, s.bench, args...).Run(); err != nil {
		return ours, theirs, all, fmt.Errorf("bench: %w", err)
	}
	if err := j.run(ctx, l, dir, "-g", jtl); err != nil {
		return ours, theirs, all, err
	}
	of, err := readStatistics(filepath.Join(dir, "report", "statistics.json"))
	if err != nil {
		return ours, theirs, all, err
	}
	read, err := readSamples(jtl)
	if err != nil {
		return ours, theirs, all, err
	}
	for i, label := range []string{"http lock", "http no lock"} {
		theirs[i], all[i] = of[label], read.labelled(label)
	}
	ours, err = readResults(results)
	return ours, theirs, all, err
}

// emptyDir returns the directory for the files of a run. JMeter does not overwrite a
// report.
func emptyDir(name string) (string, error) {
	dir := filepath.Join(target, name)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o750)
}
