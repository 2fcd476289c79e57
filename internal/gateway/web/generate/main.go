// Command generate builds the web page into the folder dist of package web.
// With -check it checks that the files there are current. It is run by go
// generate, in the folder of that package.
//
// The page's dependencies must be installed: scripts/install-web.sh.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/meup-protocol/meup/internal/gateway/web/bundle"
)

func main() {
	sources := flag.String("sources", "../../../web", "folder of the page's sources")
	entry := flag.String("entry", "src/ui/main.ts", "the first module, in that folder")
	out := flag.String("out", "dist", "folder of the bundle")
	check := flag.Bool("check", false, "write nothing; fail if the bundle is not current")
	flag.Parse()
	if err := run(bundle.Options{Dir: *sources, Entry: *entry}, *out, *check, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "generate: %v\n", err)
		os.Exit(1)
	}
}

func run(o bundle.Options, out string, check bool, report io.Writer) error {
	b, err := bundle.Build(o)
	if err != nil {
		return err
	}
	b.Report(report)
	if !check {
		return b.Write(out)
	}
	differences, err := b.Differences(out)
	if err != nil {
		return err
	}
	if len(differences) > 0 {
		return errors.New("the bundle is not current, run go generate ./internal/gateway/web: " + strings.Join(differences, "; "))
	}
	return nil
}
