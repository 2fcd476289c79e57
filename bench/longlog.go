//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A long log has turns of turnEnvelopes envelopes. The turns of a round are under way at once; a thread has one in each of 10 rounds.
const (
	turnsAtOnce = 40
	threadTurns = 10
)

// longLog fills the log of a gateway with n envelopes of turns, and measures how the
// gateway starts over it: after it was stopped, and after it was killed.
func longLog(n int) func(s *process, o *options) (figures, error) {
	return func(s *process, _ *options) (figures, error) {
		rounds := n / turnEnvelopes / turnsAtOnce
		newest := fmt.Sprintf("threads/q-%d?limit=10", (rounds-1)/threadTurns*threadTurns*turnsAtOnce)
		fill, err := s.fillTurns(rounds)
		if err != nil {
			return nil, err
		}
		f := figures{"fill": fill}
		for _, end := range []struct {
			figure string
			signal syscall.Signal
		}{{"killed", syscall.SIGKILL}, {"first", syscall.SIGTERM}} {
			opened, err := s.restart(end.signal)
			if err != nil {
				return nil, err
			}
			begun := time.Now()
			if err := s.ask(context.Background(), http.DefaultClient, http.MethodGet, seat{"bench", participantName(0), newest}, nil); err != nil {
				return nil, err
			}
			f[end.figure], f["open"] = time.Since(begun).Seconds()*1000, opened.Seconds()*1000
		}
		memory, err := s.memory("VmRSS")
		f["memory"] = float64(memory) / 1e6
		return f, errors.Join(err, s.disk(f, rounds*turnsAtOnce*turnEnvelopes))
	}
}

// restart ends the server by a signal and starts it again over its files. It returns
// the time until the new one serves.
func (s *process) restart(signal syscall.Signal) (time.Duration, error) {
	if err := s.cmd.Process.Signal(signal); err != nil {
		return 0, err
	}
	<-s.exited
	s.cmd = exec.CommandContext(s.ctx, s.cmd.Path, s.cmd.Args[1:]...)
	begun := time.Now()
	err := s.start()
	return time.Since(begun), err
}

// disk adds the bytes on disk for each envelope, by the folders of the gateway's data.
func (s *process) disk(f figures, envelopes int) error {
	root := filepath.Join(s.dir, "data")
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		folder, _, _ := strings.Cut(strings.TrimPrefix(path, root+"/"), "/")
		f["disk-"+folder] += float64(info.Size()) / float64(envelopes)
		return nil
	})
}

// fillTurns writes rounds of turns, while the index of turns follows, and returns the
// envelopes per second.
func (s *process) fillTurns(rounds int) (float64, error) {
	cr, err := gather(s, []seat{{"bench", participantName(0), ""}, {"bench", participantName(1), ""}})
	if err != nil {
		return 0, err
	}
	defer cr.close()
	if err := s.ask(context.Background(), http.DefaultClient, http.MethodGet, seat{"bench", participantName(0), "threads?limit=1"}, nil); err != nil {
		return 0, err
	}
	begun := time.Now()
	for round := range rounds {
		var questions, work bytes.Buffer
		for i := range turnsAtOnce {
			n, follows := round*turnsAtOnce+i, -1
			if round%threadTurns > 0 {
				follows = n - turnsAtOnce
			}
			writeTurn(&questions, &work, n, follows)
		}
		for i, frames := range [][]byte{questions.Bytes(), work.Bytes()} {
			cr.sent += turnsAtOnce * []int{1, turnEnvelopes - 1}[i]
			if err := errors.Join(cr.conns[i].write(frames), cr.drain(cr.visit)); err != nil {
				return 0, err
			}
		}
	}
	return float64(cr.sent) / time.Since(begun).Seconds(), nil
}
