package program

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// reference returns the commands and flags of a program as a Markdown document.
func reference(root *cobra.Command) string {
	root.InitDefaultCompletionCmd()
	var b strings.Builder
	fmt.Fprintf(&b, "# Commands and flags of %s\n\nWritten by `make generate`. `%[1]s COMMAND --help` has more, with examples.\n", root.Name())
	if flags := root.PersistentFlags(); flags.HasAvailableFlags() {
		b.WriteString("\nFlags of all commands:\n")
		flagTable(&b, flags)
	}
	referCommands(&b, root)
	return b.String()
}

// referCommands describes the commands below c.
func referCommands(b *strings.Builder, c *cobra.Command) {
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() || sub.Name() == "help" || sub.Name() == "completion" {
			continue
		}
		fmt.Fprintf(b, "\n## %s\n\n", sub.CommandPath())
		if sub.Runnable() {
			fmt.Fprintf(b, "`%s`: ", sub.UseLine())
		}
		fmt.Fprintf(b, "%s.\n", strings.TrimSuffix(sub.Short, "."))
		flagTable(b, sub.LocalNonPersistentFlags())
		if inherited := sub.PersistentFlags(); inherited.HasAvailableFlags() {
			b.WriteString("\nAlso of its commands:\n")
			flagTable(b, inherited)
		}
		referCommands(b, sub)
	}
}

// flagTable writes a table of flags, unless there are none.
func flagTable(b *strings.Builder, set *pflag.FlagSet) {
	header := "\n| flag | | default |\n|---|---|---|\n"
	set.VisitAll(func(f *pflag.Flag) {
		name, usage, value, listed := describeFlag(f)
		if !listed {
			return
		}
		if value != "" {
			value = "`" + value + "`"
		}
		b.WriteString(header)
		header = ""
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`).Replace(usage), strings.ReplaceAll(value, "|", `\|`))
	})
}
