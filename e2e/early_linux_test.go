package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// maxEarlyPackages bounds how many packages of the gateway are initialized
// before it receives signals, of more than 300.
const maxEarlyPackages = 45

// TestSignal_BeforeMain sends signals while the packages of the gateway are
// initialized: SIGHUP does not end it, and SIGTERM shuts it down cleanly.
func TestSignal_BeforeMain(t *testing.T) {
	t.Parallel()
	g := prepareGateway(t, labConfig)
	rounds := 2
	if testkit.IsSlow() {
		rounds = 5
	}
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		t.Run(s.String(), func(t *testing.T) {
			for range rounds {
				cmd := exec.Command(filepath.Join(bin, "meup-gateway"), g.args...)
				cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1") // a line for each package
				out, in, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				// A page of lines, a fifth of them: the process waits for its reader long before main.
				if _, err := unix.FcntlInt(in.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize()); err != nil {
					t.Fatal(err)
				}
				cmd.Stderr = in
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				_ = in.Close()
				late := time.AfterFunc(testkit.Patience, func() { _ = cmd.Process.Kill() }) // it lost the signal
				initialized, serving := signalEarly(cmd.Process, bufio.NewScanner(out), s)
				_ = out.Close()
				err = cmd.Wait()
				late.Stop()
				if err != nil {
					t.Errorf("after an early %v: %v", s, err)
				}
				if initialized == 0 || initialized > maxEarlyPackages {
					t.Errorf("%d packages were initialized before the signals, want 1 to %d", initialized, maxEarlyPackages)
				}
				if s == syscall.SIGHUP && !serving {
					t.Errorf("after an early %v: it does not serve", s)
				}
			}
		})
	}
}

// signalEarly sends a signal as soon as the process receives signals, and after
// SIGHUP a SIGTERM when it serves: an early SIGTERM ends it by itself, at the latest
// when it serves, if the kernel delivers it late. It returns how many packages had
// been initialized by the first, and whether the process served.
func signalEarly(p *os.Process, lines *bufio.Scanner, s syscall.Signal) (initialized int, serving bool) {
	packages := 0
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "init "):
			packages++
			if strings.Contains(line, "/earlysignal ") {
				initialized = packages
				_ = p.Signal(s)
			}
		case strings.Contains(line, "msg=serving "):
			serving = true
			if s == syscall.SIGHUP {
				_ = p.Signal(syscall.SIGTERM)
			}
		}
	}
	return initialized, serving
}
