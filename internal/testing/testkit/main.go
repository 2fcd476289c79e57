package testkit

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Environment variables of make slow.
const (
	slowEnv = "MEUP_TEST_SLOW" // 1: tests that call Slow or Quarantine run
	seedEnv = "MEUP_TEST_SEED" // the seed of random tests
)

// seedFlag is the seed of random tests. It is fixed, so that a run that fails can be
// repeated.
var seedFlag = flag.Uint64("seed", 0, "seed of random tests; 0: from "+seedEnv+", otherwise 1")

func seed() uint64 {
	if *seedFlag != 0 {
		return *seedFlag
	}
	// Read when a test runs, so that the go command knows that the result depends on it.
	if n, err := strconv.ParseUint(os.Getenv(seedEnv), 10, 64); err == nil {
		return n
	}
	return 1
}

// Rand returns random numbers that are the same in each run with the same flag -seed.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	n := seed()
	t.Logf("-seed %d", n)
	return rand.New(rand.NewPCG(n, 0))
}

// IsSlow reports whether tests run that take minutes.
func IsSlow() bool { return os.Getenv(slowEnv) == "1" }

// Slow skips a test that takes minutes, or depends on the speed of the machine, unless
// make slow runs it.
func Slow(t testing.TB) {
	t.Helper()
	if !IsSlow() {
		t.Skip("runs with make slow")
	}
}

// OneGoroutine skips a test that takes long with the race detector, which finds nothing in it.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("one goroutine, which takes long with the race detector")
	}
}

// Quarantine skips a test that fails by itself for a reason that is not found yet, unless
// make slow runs it. Each call has an entry in docs/rough-edges.md.
func Quarantine(t testing.TB, reason string) {
	t.Helper()
	if !IsSlow() {
		t.Skip("in quarantine, runs with make slow: " + reason)
	}
}

// Main runs the tests of a package, and fails if they leave goroutines behind that do not
// end. Tests with rapid have the seed of Rand.
func Main(m interface{ Run() int }, ignore ...goleak.Option) { os.Exit(Run(m, ignore...)) }

// Run is Main for packages that clean up afterwards: it returns the exit code.
func Run(m interface{ Run() int }, ignore ...goleak.Option) int {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f != nil && Race && f.Value.String() == f.DefValue {
		if err := f.Value.Set("20"); err != nil { // a fifth of them
			panic(err)
		}
	}
	if f := flag.Lookup("rapid.seed"); f != nil && f.Value.String() == f.DefValue {
		if err := f.Value.Set(strconv.FormatUint(seed(), 10)); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if code != 0 {
		return code
	}
	// These two of nats-server end at some time after its shutdown, or with the process.
	ignore = append(ignore,
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1"),
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*fileStore).flushStreamStateLoop"))
	err := goleak.Find(ignore...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "waiting for goroutines to end:", err)
	}
	for late := time.Now().Add(Patience); err != nil && time.Now().Before(late); {
		err = goleak.Find(ignore...) // itself waits for a second
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "goroutines are left:", err)
		return 1
	}
	return 0
}
