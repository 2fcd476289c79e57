package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/reasoner"
)

// logFlags configure the records of decisions. serve and worker have them.
type logFlags struct {
	file    string
	stdout  bool
	entries int
	bytes   int64
	age     time.Duration

	wrong error // of the environment
}

// Variables of the records.
const (
	envLogFile   = "REASONING_LOG_FILE"
	envLogStdout = "REASONING_LOG_STDOUT"
)

func (f *logFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.file, "reasoning-log-file", os.Getenv(envLogFile), "file to which records of decisions are appended, and from which they are restored; one for each process (default $"+envLogFile+", or none)")
	text := os.Getenv(envLogStdout)
	stdout, err := strconv.ParseBool(cmp.Or(text, "false"))
	if err != nil {
		f.wrong = fmt.Errorf("the environment variable %s=%q: expected 1 or 0", envLogStdout, text)
	}
	fl.BoolVar(&f.stdout, "reasoning-log-stdout", stdout, "write records of decisions to standard output (default $"+envLogStdout+")")
	fl.IntVar(&f.entries, "reasoning-log-entries", reasoner.DefaultLogEntries, "maximum number of records of decisions that are kept in memory")
	fl.Int64Var(&f.bytes, "reasoning-log-bytes", reasoner.DefaultLogBytes, "maximum size of the kept records, and of the file before it is renamed to FILE.1")
	fl.DurationVar(&f.age, "reasoning-log-age", reasoner.DefaultLogAge, "maximum age of the kept records")
}

func (f *logFlags) check() error {
	switch {
	case f.wrong != nil:
		return program.Usage(f.wrong)
	case f.entries < 1 || f.bytes < 1 || f.age <= 0:
		return program.Usagef("--reasoning-log-entries, --reasoning-log-bytes and --reasoning-log-age must be positive")
	}
	return nil
}

// open returns the store, with its file and standard output.
func (f *logFlags) open(mask func(string) string, log *slog.Logger) (*reasoner.DecisionLog, error) {
	s := reasoner.NewDecisionLog(reasoner.DecisionLogOptions{Entries: f.entries, Bytes: f.bytes, Age: f.age, Mask: mask})
	if f.file != "" {
		if err := s.MirrorToFile(f.file, log); err != nil {
			return nil, fmt.Errorf("--reasoning-log-file: %w", err)
		}
	}
	if f.stdout {
		s.MirrorTo(os.Stdout, log)
	}
	return s, nil
}
