// Conformance tests clients and gateways of MEUP that are written in any language. The
// README has the vectors, and the behavior of the program under test.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"github.com/meup-protocol/meup/sdk/conformance/clienttest"
	"github.com/meup-protocol/meup/sdk/conformance/gatewaytest"
	"github.com/meup-protocol/meup/sdk/conformance/vector"
)

//go:embed vectors
var vectors embed.FS

const usage = `Usage:
  conformance client  [-run REGEXP] [-v] -- COMMAND ARGS…
  conformance gateway [-run REGEXP] [-v] -url http://HOST -token-a A -token-b B [-space NAME]

client tests a program: the runner plays the gateway. gateway tests a gateway: the
runner plays two of its participants. See sdk/conformance/README.md.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs the vectors of a client or of a gateway, and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return 2
	}
	if args[0] == "bot" {
		bot().Main()
	}

	fail := func(err error) int {
		fmt.Fprintf(stderr, "conformance: %v\n", err)
		return 2
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage) }
	pattern := flags.String("run", "", "run only the vectors whose name matches")
	verbose := flags.Bool("v", false, "print all frames")
	address := flags.String("url", "", "gateway: http://HOST")
	name := flags.String("space", "lab", "gateway: the space")
	public := flags.Bool("everyone", false, "gateway: the space has visibility: everyone")
	tokens := map[string]*string{"a": nil, "b": nil, "c": nil}
	for who := range tokens {
		tokens[who] = flags.String("token-"+who, "", "gateway: token of the participant "+who)
	}
	if err := flags.Parse(args[1:]); err != nil {
		return 2
	}
	selected, err := regexp.Compile(*pattern)
	if err != nil {
		return fail(fmt.Errorf("-run: %w", err))
	}
	var frames io.Writer
	if *verbose {
		frames = stdout
	}
	switch args[0] {
	case "client":
		if flags.NArg() == 0 {
			return fail(errors.New("name the command of the program under test, after --"))
		}
		list, err := vector.Load(vectors, "vectors/client", false)
		if err != nil {
			return fail(err)
		}
		co := clienttest.Options{Command: flags.Args(), Output: frames}
		return runAll(list, selected, stdout, func(v *vector.Vector) error { return clienttest.Run(ctx, v, co) })
	case "gateway":
		list, err := vector.Load(vectors, "vectors/gateway", true)
		if err != nil {
			return fail(err)
		}
		ho := gatewaytest.Options{URL: *address, Space: *name, Tokens: map[string]string{}, Public: *public, Output: frames}
		for who, token := range tokens {
			if *token != "" {
				ho.Tokens[who] = *token
			}
		}
		suite, err := gatewaytest.New(ctx, ho)
		if err != nil {
			return fail(err)
		}
		defer suite.Close()
		return runAll(list, selected, stdout, func(v *vector.Vector) error { return suite.Run(ctx, v) })
	}
	fmt.Fprintf(stderr, "conformance: unknown command %q\n%s", args[0], usage)
	return 2
}

// runAll runs the selected vectors, and prints the outcome of each.
func runAll(list []vector.Vector, selected *regexp.Regexp, out io.Writer, run func(*vector.Vector) error) int {
	passed, failed, skipped := 0, 0, 0
	for i := range list {
		v := &list[i]
		if !selected.MatchString(v.Name) {
			continue
		}
		err := run(v)
		var skip *gatewaytest.SkipError
		switch {
		case err == nil:
			passed++
			fmt.Fprintf(out, "ok   %s\n", v.Name)
		case errors.As(err, &skip):
			skipped++
			fmt.Fprintf(out, "skip %s: %v\n", v.Name, err)
		default:
			failed++
			fmt.Fprintf(out, "FAIL %s: %s\n%v\n", v.Name, v.About, err)
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if failed > 0 || passed == 0 {
		return 1
	}
	return 0
}
