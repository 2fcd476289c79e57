// Command gotest runs go test. At the end it lists the failed tests, the slowest ones, and
// the flaky ones, which passed when they were run again.
//
//	go run ./scripts/gotest [-each] [-p=3 and other flags of go test] PACKAGES
//
// With -each it prints a line for each test that takes a second or more.
//
// A test that fails is run again once, alone, when all others have ended. If it passes
// then, the run goes on, and the test is named as flaky: more than three flaky tests fail
// the run. Not run again: a build that fails, a data race, a panic, goroutines that are
// left, and every other failure that no single test has.
//
// A run that is interrupted, or whose go test is killed, fails and prints what it has.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	maxFlaky  = 3       // more of them fail the run
	slowest   = 10      // so many packages and tests are listed
	maxOutput = 1 << 20 // bytes of the output of one test that are kept
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program
	code, err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		code = 1
	}
	os.Exit(code)
}

// run runs the tests and returns the exit code.
func run(ctx context.Context, args []string, out io.Writer) (int, error) {
	begun := time.Now()
	r := &results{out: out, tests: make(map[id]*result)}
	if len(args) > 0 && args[0] == "-each" {
		r.each, args = true, args[1:]
	}
	first := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
	if first < 0 {
		return 0, errors.New("no packages; flags of go test are written -flag=value")
	}
	flags, packages := args[:first], args[first:]
	if slices.Contains(packages, "-args") {
		return 0, errors.New("-args is not supported")
	}
	stopped := r.goTest(ctx, flags, packages)
	flaky, failed := r.again(ctx, flags)
	r.printSlowest()
	passed, skipped := r.count("pass")+len(flaky), r.count("skip")
	for _, t := range flaky {
		fmt.Fprintf(out, "FLAKY %s (%s): failed once, passed once\n", t.test, short(t.pkg))
	}
	if len(flaky) > maxFlaky {
		fmt.Fprintf(out, "%d flaky tests are more than %d: the run has failed\n", len(flaky), maxFlaky)
		failed++
	}
	if stopped != nil {
		fmt.Fprintf(out, "go test: %v\n", stopped)
		failed++
	}
	fmt.Fprintf(out, "tests took %.0f s\n%d passed, %d failed, %d skipped\n", time.Since(begun).Seconds(), passed, failed, skipped)
	if failed > 0 {
		return 1, nil
	}
	return 0, nil
}

// id is a test of a package; test is "" for the package itself.
type id struct{ pkg, test string }

// result is the result of a test, with its subtests, or of a package.
type result struct {
	id
	outcome string // pass, fail or skip; "": it has not ended
	seconds float64
	fatal   bool // its output matches fatal
	cached  bool // a package whose result is from the test cache
	output  bytes.Buffer
	cut     bytes.Buffer // the newest output, if there is more than maxOutput
	dropped int          // bytes between output and cut
}

func (t *result) write(text string) {
	if t.output.Len() < maxOutput {
		t.output.WriteString(text)
		return
	}
	t.cut.WriteString(text)
	if n := t.cut.Len() - maxOutput; n > maxOutput {
		t.cut.Next(n)
		t.dropped += n
	}
}

func (t *result) print(out io.Writer) {
	_, _ = out.Write(t.output.Bytes())
	if t.dropped > 0 {
		fmt.Fprintf(out, "\n[%d bytes are left out]\n", t.dropped)
	}
	_, _ = out.Write(t.cut.Bytes())
}

type results struct {
	out   io.Writer
	each  bool // print a line for each test that takes a second
	tests map[id]*result
}

// event is a line of go test -json (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// goTest runs go test and keeps its results; that tests fail is no error.
func (r *results) goTest(ctx context.Context, flags, packages []string) error {
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-json"}, flags, packages)...) //nolint:gosec // its arguments are those of this program
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it begins nothing more, and a terminal interrupts the tests too
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil && e.Action != "" {
			r.add(&e)
		} else {
			_, _ = r.out.Write(line) // not an event
		}
		if err != nil {
			break
		}
	}
	err = cmd.Wait()
	// go test exits with 1 if tests failed, and with 2 if packages were not built, too.
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 && r.packages("fail") > 0 {
		err = nil
	}
	return err
}

func (r *results) add(e *event) {
	if strings.HasPrefix(e.Action, "build-") { // of a package that is imported, perhaps
		_, _ = io.WriteString(r.out, e.Output)
		return
	}
	top, _, sub := strings.Cut(e.Test, "/")
	key := id{e.Package, top}
	t := r.tests[key]
	if t == nil {
		t = &result{id: key}
		r.tests[key] = t
	}
	if e.Action == "output" {
		t.write(e.Output)
		t.fatal = t.fatal || fatal.MatchString(e.Output)
		return
	}
	if sub || e.Action != "pass" && e.Action != "fail" && e.Action != "skip" {
		return
	}
	t.outcome, t.seconds = e.Action, e.Elapsed
	switch {
	case e.Test == "" && e.Action != "skip": // a package without tests is skipped
		r.printPackage(t)
	case e.Test != "" && r.each && e.Elapsed >= 1:
		fmt.Fprintf(r.out, "%s %s (%s) %.1f s\n", e.Action, e.Test, short(e.Package), e.Elapsed)
	}
	if t.outcome != "fail" && !t.fatal {
		t.output, t.cut = bytes.Buffer{}, bytes.Buffer{}
	}
}

// printPackage prints the line of a package that has ended, after its failed tests.
func (r *results) printPackage(p *result) {
	if p.outcome != "pass" {
		for _, t := range r.failures(p.pkg) {
			t.print(r.out)
		}
		p.print(r.out)
		return
	}
	for line := range strings.Lines(p.output.String()) {
		if strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "waiting for goroutines to end") {
			_, _ = io.WriteString(r.out, line)
			p.cached = p.cached || strings.HasSuffix(line, "\t(cached)\n")
		}
	}
}

// failures returns the failed tests of a package. One that had not ended when the process
// did has failed with it. A test with a fatal output may have passed: the report of a data
// race is among the output of any test.
func (r *results) failures(pkg string) (list []*result) {
	for _, t := range r.tests {
		if t.pkg == pkg && t.test != "" && (t.outcome == "fail" || t.outcome == "" || t.fatal) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *result) int { return strings.Compare(a.test, b.test) })
	return list
}

// fatal matches output of packages whose tests are not run again.
var fatal = regexp.MustCompile("^(panic: |fatal error: |goroutines are left: |WARNING: DATA RACE)|found unexpected goroutines|race detected (during execution|outside) of test")

// again runs the failed tests of each package again. It returns the ones that passed then,
// and the number of failures that remain.
func (r *results) again(ctx context.Context, flags []string) (flaky []id, failed int) {
	var once []*result
	for _, p := range r.list(func(t *result) bool { return t.test == "" && t.outcome == "" }) {
		r.printPackage(p)
		fmt.Fprintf(r.out, "FAILED %s: has not ended\n", short(p.pkg))
		failed++
	}
	for _, p := range r.list(func(t *result) bool { return t.test == "" && t.outcome == "fail" }) {
		tests := r.failures(p.pkg)
		isFatal := slices.ContainsFunc(tests, func(t *result) bool { return t.fatal || t.outcome == "" })
		if len(tests) == 0 || isFatal || p.fatal {
			fmt.Fprintf(r.out, "FAILED %s: not run again\n", short(p.pkg))
			failed += max(1, len(tests))
			continue
		}
		once = append(once, tests...)
	}
	if len(once) > 3*maxFlaky {
		fmt.Fprintf(r.out, "%d tests failed: none is run again\n", len(once))
		return nil, failed + len(once)
	}
	for _, t := range once {
		if ctx.Err() != nil {
			fmt.Fprintf(r.out, "FAILED %s (%s): not run again\n", t.test, short(t.pkg))
			failed++
			continue
		}
		second := &results{out: r.out, tests: make(map[id]*result)}
		fmt.Fprintf(r.out, "again: %s (%s)\n", t.test, short(t.pkg))
		err := second.goTest(ctx, append(slices.Clone(flags), "-count=1", "-run=^"+t.test+"$"), []string{t.pkg})
		if err != nil {
			fmt.Fprintf(r.out, "go test: %v\n", err)
		}
		if got := second.tests[t.id]; err != nil || got == nil || got.outcome != "pass" || second.tests[id{pkg: t.pkg}].outcome != "pass" {
			outcome := "failed twice"
			if ctx.Err() != nil {
				outcome = "was interrupted when it was run again"
			}
			fmt.Fprintf(r.out, "FAILED %s (%s): %s\n", t.test, short(t.pkg), outcome)
			failed++
			continue
		}
		flaky = append(flaky, t.id)
	}
	return flaky, failed
}

func (r *results) list(is func(*result) bool) (list []*result) {
	for _, t := range r.tests {
		if is(t) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *result) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), strings.Compare(a.pkg+a.test, b.pkg+b.test))
	})
	return list
}

func (r *results) count(outcome string) int {
	return len(r.list(func(t *result) bool { return t.test != "" && t.outcome == outcome }))
}

func (r *results) packages(outcome string) int {
	return len(r.list(func(t *result) bool { return t.test == "" && t.outcome == outcome }))
}

func (r *results) printSlowest() {
	for _, what := range []string{"packages", "tests"} {
		fmt.Fprintf(r.out, "\nslowest %s:\n", what)
		list := r.list(func(t *result) bool {
			p := r.tests[id{pkg: t.pkg}]
			return (t.test == "") == (what == "packages") && (p == nil || !p.cached)
		})
		for _, t := range list[:min(slowest, len(list))] {
			fmt.Fprintf(r.out, "%8.1f s  %s\n", t.seconds, strings.TrimSpace(short(t.pkg)+" "+t.test))
		}
	}
	fmt.Fprintln(r.out)
}

// short returns an import path without the module.
func short(pkg string) string {
	return strings.TrimPrefix(pkg, "github.com/meup-protocol/meup/")
}
