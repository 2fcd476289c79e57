package program

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Describe adds the flag --version to a program, and a hidden command that
// prints its manual page. The page is written here, because the generator of
// the command-line library would add three modules to each program.
func Describe(root *cobra.Command, linked string) {
	root.Version = fmt.Sprintf("%s (%s)", Version(linked), runtime.Version())
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	var markdown bool
	man := &cobra.Command{
		Use:    "man",
		Short:  "Prints the manual page, in the format of man",
		Hidden: true,
		Args:   NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			text := manual(c.Root(), Version(linked))
			if markdown {
				text = reference(c.Root())
			}
			_, err := io.WriteString(c.OutOrStdout(), text)
			return err
		},
	}
	man.Flags().BoolVar(&markdown, "markdown", false, "print the table of commands and flags instead, as Markdown")
	root.AddCommand(man)
}

// manual returns the manual page of a program, with all of its commands.
func manual(root *cobra.Command, version string) string {
	root.InitDefaultCompletionCmd()
	var p page
	p.macro("TH", strings.ToUpper(root.Name()), "1", "", root.Name()+" "+version, "User Commands")
	p.macro("SH", "NAME")
	p.text(root.Name() + " - " + root.Short)
	p.macro("SH", "SYNOPSIS")
	p.text(root.Name() + " COMMAND [FLAGS]")
	p.macro("SH", "DESCRIPTION")
	p.text(root.Long)
	if flags := root.PersistentFlags(); flags.HasAvailableFlags() {
		p.macro("SH", "OPTIONS OF ALL COMMANDS")
		p.flags(flags)
	}
	p.macro("SH", "COMMANDS")
	p.commands(root)
	if root.Example != "" {
		p.macro("SH", "EXAMPLES")
		p.verbatim(root.Example)
	}
	return p.String()
}

// page is a manual page in the roff language.
type page struct{ strings.Builder }

// commands describes the commands below c.
func (p *page) commands(c *cobra.Command) {
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		p.macro("SS", sub.UseLine())
		description := sub.Long
		if description == "" {
			description = sub.Short + "."
		}
		p.text(description)
		p.flags(sub.LocalNonPersistentFlags())
		if sub.Example != "" {
			p.text("Examples:")
			p.verbatim(sub.Example)
		}
		p.commands(sub)
	}
}

// describeFlag returns a flag with its argument, what it does, and its default if that is
// not empty. Hidden flags and --help are not listed.
func describeFlag(f *pflag.Flag) (name, usage, value string, listed bool) {
	if f.Hidden || f.Name == "help" || f.Name == "version" {
		return "", "", "", false
	}
	kind, usage := pflag.UnquoteUsage(f)
	name = "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if kind != "" {
		name += " " + kind
	}
	if f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" && f.DefValue != "0s" {
		value = f.DefValue
	}
	return name, usage, value, true
}

// flags describes flags, each in a paragraph.
func (p *page) flags(set *pflag.FlagSet) {
	set.VisitAll(func(f *pflag.Flag) {
		name, usage, value, listed := describeFlag(f)
		if !listed {
			return
		}
		if value != "" {
			usage += " (default " + value + ")"
		}
		p.macro("TP")
		p.line(`\fB` + escaped(name) + `\fR`)
		p.line(escaped(usage))
	})
}

// text writes paragraphs; indented lines keep their form.
func (p *page) text(s string) {
	for paragraph := range strings.SplitSeq(strings.TrimSpace(s), "\n\n") {
		p.macro("PP")
		if strings.HasPrefix(paragraph, " ") {
			p.verbatim(paragraph)
			continue
		}
		for line := range strings.SplitSeq(paragraph, "\n") {
			p.line(escaped(line))
		}
	}
}

// verbatim writes lines in their form.
func (p *page) verbatim(s string) {
	p.macro("PP")
	p.macro("nf")
	for line := range strings.SplitSeq(s, "\n") {
		p.line(escaped(line))
	}
	p.macro("fi")
}

func (p *page) macro(name string, arguments ...string) {
	p.WriteString("." + name)
	for _, a := range arguments {
		p.WriteString(` "` + strings.ReplaceAll(escaped(a), `"`, `\(dq`) + `"`)
	}
	p.WriteByte('\n')
}

func (p *page) line(s string) { p.WriteString(s + "\n") }

// escaped returns text that roff prints as it is, in ASCII.
func escaped(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) {
		var ascii strings.Builder
		for _, r := range s {
			if r > unicode.MaxASCII {
				fmt.Fprintf(&ascii, `\[u%04X]`, r)
				continue
			}
			ascii.WriteRune(r)
		}
		s = ascii.String()
	}
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
