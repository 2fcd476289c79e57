package program

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func example() *cobra.Command {
	root := &cobra.Command{Use: "fruit", Short: "Peels fruit", Long: "fruit peels.\n\n  .hidden is a file\n\n'quoted' – text with \\ in it.", Example: "  fruit peel --knife sharp"}
	peel := &cobra.Command{Use: "peel [FRUIT]", Short: "Peels one", RunE: NoCommand}
	peel.Flags().String("knife", "blunt", "which `KNIFE`")
	secret := &cobra.Command{Use: "secret", Short: "Not shown", Hidden: true, RunE: NoCommand}
	root.AddCommand(peel, secret)
	Describe(root, "v1.2.3")
	return root
}

func output(t *testing.T, args ...string) string {
	t.Helper()
	var out strings.Builder
	root := example()
	root.SetOut(&out)
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestDescribe_Version(t *testing.T) {
	if got := output(t, "--version"); !strings.HasPrefix(got, "fruit v1.2.3 (go1.") || strings.Count(got, "\n") != 1 {
		t.Errorf("--version prints %q", got)
	}
}

func TestDescribe_Manual(t *testing.T) {
	got := output(t, "man")
	for _, want := range []string{
		`.TH "FRUIT" "1" "" "fruit v1.2.3"`, "fruit \\- Peels fruit\n", "\n  .hidden is a file\n", "\n\\&'quoted' \\[u2013] text with \\e in it.\n",
		`.SS "fruit peel [FRUIT] [flags]"`, "\\fB\\-\\-knife KNIFE\\fR\nwhich KNIFE (default blunt)\n", `.SS "fruit completion`, "\n  fruit peel \\-\\-knife sharp\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "secret") || strings.Contains(got, "man\n") {
		t.Error("hidden commands are described")
	}
	if again := output(t, "man"); again != got {
		t.Error("two runs differ")
	}
}
