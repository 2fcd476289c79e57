//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// options are the flags.
type options struct {
	ctx     context.Context //nolint:containedctx // of the program: its end kills the servers
	gateway string
	data    string
	only    string
	profile string
	curves  string
	write   string
	rounds  int
	seconds time.Duration
	warmUp  time.Duration
	quick   bool
}

func main() {
	if server := otherServer(); server != nil {
		fail(server())
		return
	}
	var o options
	flag.StringVar(&o.gateway, "gateway", "", "the gateway's binary; empty: it is built")
	flag.StringVar(&o.data, "data", "", "folder below which the logs are written; empty: the system's temporary one")
	flag.StringVar(&o.only, "only", "", "names of scenarios or pictures, with commas; empty: the rows of the table, or all pictures")
	flag.StringVar(&o.curves, "curves", "", "folder for pictures of the costs at growing sizes, instead of the table")
	flag.StringVar(&o.profile, "profile", "", "folder for CPU profiles of the gateway; empty: none")
	flag.StringVar(&o.write, "write", "", "Markdown file whose table is replaced")
	flag.IntVar(&o.rounds, "rounds", 5, "runs of each scenario; the median counts")
	flag.DurationVar(&o.seconds, "time", 2*time.Second, "how long each run measures")
	flag.DurationVar(&o.warmUp, "warm-up", 500*time.Millisecond, "how long each run goes before it measures")
	flag.BoolVar(&o.quick, "quick", false, "one round of a second, with smaller numbers")
	flag.Parse()
	if o.quick {
		o.rounds, o.seconds = 1, time.Second
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	o.ctx = ctx
	err := run(&o) // an interrupted one fails with its servers, and removes its folders
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	fail(err)
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// pick returns the number for a full or a quick run.
func (o *options) pick(full, quick int) int {
	if o.quick {
		return quick
	}
	return full
}

// selects reports whether -only names a scenario or a picture, or is empty.
func (o *options) selects(name string) bool {
	return o.only == "" || slices.Contains(strings.Split(o.only, ","), name)
}

// profileFile returns the file for the profile of a scenario; "": none.
func (o *options) profileFile(name string) string {
	if o.profile == "" {
		return ""
	}
	return filepath.Join(o.profile, name+".pprof")
}

// otherServer returns the server that this process is to be; nil: none.
func otherServer() func() error {
	if ring := os.Getenv(bareEnv); ring != "" {
		return func() error { return runBare(ring) }
	}
	if os.Getenv(natsEnv) != "" {
		return runNATS
	}
	return nil
}

func run(o *options) error {
	if o.write != "" && o.only != "" {
		return errors.New("-write writes the whole table; leave out -only")
	}
	if err := errors.Join(raiseFileLimit(), o.checkDisk()); err != nil {
		return err
	}
	if o.gateway == "" {
		remove, err := o.build()
		if err != nil {
			return err
		}
		defer remove()
	}
	if o.curves != "" {
		return o.drawCurves(o.curves)
	}
	r := newReport(o)
	for _, sc := range scenarios(o) {
		if !o.selects(sc.name) || o.only == "" && !sc.row {
			continue
		}
		runs, err := o.inTurn(sc)
		if err != nil {
			return fmt.Errorf("%s: %w", sc.name, err)
		}
		r.add(sc, runs)
	}
	if len(r.results) == 0 {
		return fmt.Errorf("there is no scenario %s", o.only)
	}
	fmt.Print("\n", r.markdown())
	return r.writeMarkdown(o.write)
}

// inTurn runs a scenario against the servers alternately, and returns the figures of
// each round by the name of the server.
func (o *options) inTurn(sc scenario) (map[string][]figures, error) {
	servers := []struct {
		name  string
		runs  bool
		start func() (*process, error)
	}{
		{bareName, sc.ring > 0, func() (*process, error) { return startBare(o.ctx, sc.ring) }},
		{jetStreamName, sc.row, func() (*process, error) { return startJetStream(o.ctx, jetStreamName, o.data) }},
		{jetStreamCoreName, sc.row && o.curves == "", func() (*process, error) { return startJetStream(o.ctx, jetStreamCoreName, o.data) }},
		{gatewayName, true, func() (*process, error) { return startGateway(o.ctx, o.gateway, o.data, sc.configured) }},
	}
	all := make(map[string][]figures)
	for round := range o.rounds {
		for _, server := range servers {
			if !server.runs {
				continue
			}
			f, err := o.once(sc, server.start)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", server.name, err)
			}
			all[server.name] = append(all[server.name], f)
			fmt.Fprintf(os.Stderr, "%s, round %d: %s %v\n", sc.name, round+1, server.name, sc.text(f))
		}
	}
	return all, nil
}

// once runs a scenario against a new server.
func (o *options) once(sc scenario, start func() (*process, error)) (figures, error) {
	s, err := start()
	if err != nil {
		return nil, err
	}
	f, err := sc.run(s, o)
	if err != nil {
		err = fmt.Errorf("%w; the server's log ends with:\n%s", err, s.log)
	}
	return f, errors.Join(err, s.stop())
}

// build builds the gateway of this module.
func (o *options) build() (remove func(), err error) {
	dir, err := os.MkdirTemp("", "meup-bench-")
	if err != nil {
		return nil, err
	}
	o.gateway = filepath.Join(dir, "meup-gateway")
	cmd := exec.CommandContext(o.ctx, "go", "build", "-buildvcs=false", "-trimpath", "-o", o.gateway, "github.com/meup-protocol/meup/cmd/meup-gateway")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("build the gateway: %w: %s", err, out), os.RemoveAll(dir))
	}
	return func() { _ = os.RemoveAll(dir) }, nil
}

// checkDisk returns an error if the logs would be in memory, where a sync does nothing.
func (o *options) checkDisk() error {
	dir := cmp.Or(o.data, os.TempDir())
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return fmt.Errorf("look at the disk of %s: %w", dir, err)
	}
	if s.Type == unix.TMPFS_MAGIC {
		return fmt.Errorf("%s is in memory, where a sync costs nothing; name a folder on a disk with -data or TMPDIR", dir)
	}
	return nil
}

// raiseFileLimit raises the limit of open files of this process and its
// children to the system's maximum.
func raiseFileLimit() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	const needed = 10_100
	limit.Cur = limit.Max
	if limit.Cur < needed {
		return fmt.Errorf("the system allows %d open files; %d are needed (ulimit -Hn)", limit.Max, needed)
	}
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
}
