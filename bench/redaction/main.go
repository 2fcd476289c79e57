// Program redaction compares the leak detector of the gateway with gitleaks,
// the well-known detector, as a library: time, memory, recall and precision on
// the same texts.
//
//	go run . [-write README.md]
//
// It is a separate module, so that the dependencies of gitleaks are not
// dependencies of the gateway.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/rs/zerolog"
	"github.com/zricethezav/gitleaks/v8/logging"
)

func main() {
	file := flag.String("write", "", "put the results into this `file`, between its marks")
	flag.Parse()
	logging.Logger = zerolog.Nop()
	if err := run(*file); err != nil {
		fmt.Fprintln(os.Stderr, "redaction:", err)
		os.Exit(1)
	}
}

func run(file string) error {
	report, err := measure()
	if err != nil {
		return err
	}
	if file == "" {
		_, err := fmt.Print(report)
		return err
	}
	return insert(file, report)
}

// The marks around the results in a file.
const (
	begin = "<!-- results: written by go run . -write README.md -->\n"
	end   = "<!-- end of results -->\n"
)

func insert(file, report string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("write %s: it has no marks for the results", file)
	}
	return os.WriteFile(file, []byte(before+begin+"\n"+report+"\n"+end+after), 0o644) //nolint:gosec // a page of documentation
}
