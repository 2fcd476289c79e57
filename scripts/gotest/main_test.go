package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// module has packages that fail in the ways that gotest tells apart. Test T of a package
// that is flaky fails as long as its folder has no file "T.again".
const module = `
-- go.mod --
module example.org/m

go 1.26
-- good/good_test.go --
package good

import "testing"

func TestGood(*testing.T) {}

func TestSkipped(t *testing.T) { t.Skip("for a reason") }
-- slow/slow_test.go --
package slow

import (
	"testing"
	"time"
)

func TestSlow(*testing.T) { <-time.After(time.Second) }
-- flaky/flaky_test.go --
package flaky

import (
	"os"
	"testing"
)

func flaky(t *testing.T) {
	name := t.Name() + ".again"
	if _, err := os.Stat(name); err != nil {
		os.WriteFile(name, nil, 0o600)
		t.Error("not yet")
	}
}

func TestA(t *testing.T) { flaky(t) }
-- flaky/more_test.go --
//go:build more

package flaky

import "testing"

func TestB(t *testing.T) { flaky(t) }
func TestC(t *testing.T) { flaky(t) }
func TestD(t *testing.T) { flaky(t) }
-- broken/broken_test.go --
package broken

import "testing"

func TestOne(t *testing.T) {
	t.Run("part", func(t *testing.T) { t.Error("always") })
}
-- build/build_test.go --
package build

func TestBuild(t *testing.T) {}
-- panics/panics_test.go --
package panics

import "testing"

func TestFirst(*testing.T) {}

func TestPanics(*testing.T) { panic("at the disco") }
-- dies/dies_test.go --
package dies

import (
	"os"
	"testing"
)

func TestDies(t *testing.T) {
	if _, err := os.Stat("again"); err != nil {
		os.WriteFile("again", nil, 0o600)
		os.Exit(3)
	}
}

func TestLater(*testing.T) {}
-- kills/kills_test.go --
package kills

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

func TestKills(*testing.T) {
	parent := os.Getppid()
	syscall.Kill(parent, syscall.SIGKILL)
	for os.Getppid() == parent {
		runtime.Gosched()
	}
}
-- hangs/hangs_test.go --
package hangs

import (
	"os"
	"testing"
)

func TestHangs(*testing.T) {
	os.WriteFile("begun", nil, 0o600)
	select {}
}
-- race/race_test.go --
package race

import (
	"fmt"
	"testing"
)

func TestRace(*testing.T) {
	fmt.Println("WARNING: DATA RACE")
}

func TestOther(t *testing.T) { t.Error("race detected during execution of test") }
-- leaks/leaks_test.go --
package leaks

import "testing"

func TestLeaks(t *testing.T) { t.Error("found unexpected goroutines:\n[Goroutine 7]") }
-- leak/leak_test.go --
package leak

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	m.Run()
	fmt.Println("goroutines are left: one")
	os.Exit(1)
}

func TestLeaves(*testing.T) {}
`

func TestRun(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		code int
		want []string
		lack []string
	}{
		"all pass": {
			args: []string{"./good"},
			want: []string{"ok  \texample.org/m/good", "slowest packages:", "slowest tests:", "\n1 passed, 0 failed, 1 skipped\n"},
			lack: []string{"FAILED", "FLAKY"},
		},
		"each": {args: []string{"-each", "-p=1", "./slow", "./good"}, want: []string{"pass TestSlow (example.org/m/slow) "}, lack: []string{"pass TestGood"}},
		"flaky": {
			args: []string{"./flaky", "./good"},
			want: []string{"not yet", "again: TestA", "FLAKY TestA (example.org/m/flaky): failed once, passed once\n", "\n2 passed, 0 failed, 1 skipped\n"},
		},
		"more flaky tests than three": {
			args: []string{"-tags=more", "./flaky"}, code: 1,
			want: []string{"FLAKY TestA", "FLAKY TestD", "4 flaky tests are more than 3", "\n4 passed, 1 failed, 0 skipped\n"},
		},
		"failed twice": {
			args: []string{"./broken", "./good"}, code: 1,
			want: []string{"always", "FAILED TestOne (example.org/m/broken): failed twice", "\n1 passed, 1 failed, 1 skipped\n"},
		},
		"not built": {
			args: []string{"./build", "./good"}, code: 1,
			want: []string{"undefined: testing", "FAILED example.org/m/build: not run again", "\n1 passed, 1 failed, 1 skipped\n"},
			lack: []string{"again: "},
		},
		"panic": {
			args: []string{"./panics"}, code: 1,
			want: []string{"at the disco", "FAILED example.org/m/panics: not run again", "\n1 passed, 1 failed, 0 skipped\n"},
			lack: []string{"again: "},
		},
		"process ends": {
			args: []string{"./dies"}, code: 1,
			want: []string{"FAILED example.org/m/dies: not run again"},
			lack: []string{"again: ", "FLAKY"},
		},
		"go test is killed": {
			args: []string{"./kills"}, code: 1,
			want: []string{"FAILED example.org/m/kills: has not ended", "go test: signal: killed\n", "\n0 passed, 2 failed, 0 skipped\n"},
			lack: []string{"again: "},
		},
		"time-out": {
			args: []string{"-timeout=1s", "./hangs"}, code: 1,
			want: []string{"panic: test timed out after 1s", "FAILED example.org/m/hangs: not run again", "\n0 passed, 1 failed, 0 skipped\n"},
			lack: []string{"again: "},
		},
		"data race": {
			args: []string{"./race"}, code: 1,
			want: []string{"WARNING: DATA RACE", "FAILED example.org/m/race: not run again"},
			lack: []string{"again: ", "FLAKY"},
		},
		"goroutines left by a test": {
			args: []string{"./leaks"}, code: 1,
			want: []string{"FAILED example.org/m/leaks: not run again"},
			lack: []string{"again: "},
		},
		"goroutines left": {
			args: []string{"./leak"}, code: 1,
			want: []string{"goroutines are left: one", "FAILED example.org/m/leak: not run again"},
			lack: []string{"again: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inModule(t)
			var out bytes.Buffer
			code, err := run(t.Context(), test.args, &out)
			if err != nil || code != test.code {
				t.Errorf("exit code %d, error %v", code, err)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing", want)
				}
			}
			for _, lack := range test.lack {
				if strings.Contains(out.String(), lack) {
					t.Errorf("there is %q", lack)
				}
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// inModule changes to a folder with the packages of module.
func inModule(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(module)).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOTMPDIR", t.TempDir())                                                   // a go command that is killed leaves its files
	t.Setenv("GOFLAGS", "-trimpath -buildvcs=false -gcflags=all=-dwarf=false -vet=off") // as the tests of this repository are compiled
}

// TestRun_Interrupted checks that a run that is interrupted fails when its tests end, and runs
// none again.
func TestRun_Interrupted(t *testing.T) {
	inModule(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	ended := make(chan int, 1)
	go func() { // ends with the time limit of the test
		code, err := run(ctx, []string{"-timeout=5s", "./hangs", "./flaky"}, &out)
		if err != nil {
			t.Error(err)
		}
		ended <- code
	}()
	testkit.Eventually(t, "the test runs", func() bool {
		_, err := os.Stat("hangs/begun")
		return err == nil
	})
	cancel()
	if code := <-ended; code != 1 || !strings.Contains(out.String(), "FAILED example.org/m/hangs: not run again") || strings.Contains(out.String(), "again: Test") {
		t.Errorf("exit code %d:\n%s", code, &out)
	}
}

// TestResult_Cut checks that the beginning and the end of a long output are kept, and the
// length of what is between them.
func TestResult_Cut(t *testing.T) {
	var r result
	r.write(strings.Repeat("a", maxOutput))
	for range 4 {
		r.write(strings.Repeat("z", maxOutput))
	}
	r.write("the end")
	var out bytes.Buffer
	r.print(&out)
	kept := strings.Count(out.String(), "z")
	begin, left := strings.Repeat("a", maxOutput), fmt.Sprintf("[%d bytes are left out]", 4*maxOutput-kept)
	if !strings.HasPrefix(out.String(), begin+"\n"+left) || kept > 2*maxOutput || !strings.HasSuffix(out.String(), "the end") {
		t.Errorf("%d bytes are kept, want the beginning, %q and the end", kept, left)
	}
}

// TestRun_Usage checks that arguments that cannot be understood are an error.
func TestRun_Usage(t *testing.T) {
	for _, args := range [][]string{nil, {"-p=2"}, {"./...", "-args"}} {
		if _, err := run(t.Context(), args, &bytes.Buffer{}); err == nil {
			t.Errorf("%q is no error", args)
		}
	}
}
