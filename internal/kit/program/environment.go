package program

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Environment has the streams, variables and folder of a command. Many commands with
// different environments can run in a process.
type Environment struct {
	// In, Out and Err are the standard streams; nil: those of the process.
	In       io.Reader
	Out, Err io.Writer
	// Getenv returns the value of a variable; "": it has none.
	Getenv func(name string) string
	// Dir is the folder of relative paths; "": the folder of the process.
	Dir string
	// AfterFunc starts a timer, first that of a --timeout; nil: time.AfterFunc.
	AfterFunc func(d time.Duration, f func()) *time.Timer
}

// Process returns the environment of the process.
func Process() *Environment { return &Environment{Getenv: os.Getenv} }

// After calls f when d is over, unless the timer is stopped.
func (e *Environment) After(d time.Duration, f func()) *time.Timer {
	if e.AfterFunc != nil {
		return e.AfterFunc(d, f)
	}
	return time.AfterFunc(d, f)
}

// Home returns the home folder of the user.
func (e *Environment) Home() (string, error) {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if home := e.Getenv(name); home != "" {
		return home, nil
	}
	return "", errors.New("the variable " + name + " is not set")
}

// Path returns a path with which the process finds a file.
func (e *Environment) Path(path string) string {
	if e.Dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(e.Dir, path)
}

// Open opens a file for reading. Errors have the path that is given.
func (e *Environment) Open(path string) (*os.File, error) {
	f, err := os.Open(e.Path(path))
	return f, named(err, path)
}

// Stat returns the description of a file. Errors have the path that is given.
func (e *Environment) Stat(path string) (os.FileInfo, error) {
	info, err := os.Stat(e.Path(path))
	return info, named(err, path)
}

func named(err error, path string) error {
	var failed *os.PathError
	if errors.As(err, &failed) {
		failed.Path = path
	}
	return err
}
