package typescript_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// A build replaces dist once it has succeeded, and leaves it as it is otherwise.
func TestBuild(t *testing.T) {
	_, node := install(t) // or skips the test
	root := t.TempDir()
	sdk, modules := filepath.Join(root, "sdk", "typescript"), filepath.Join(root, "web", "node_modules")
	for _, name := range []string{"build.mjs", "package.json"} {
		if err := copied(filepath.Join(sdk, name), name); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(sdk, "tsconfig.json"), `{"compilerOptions": {"target": "ES2022", "types": [], "lib": ["ES2022"], "rootDir": "src"}, "include": ["src"]}`)
	write(t, filepath.Join(sdk, "src", "index.ts"), "export const n: number = 1;\n")
	write(t, filepath.Join(sdk, "dist", "old.js"), "")
	build := func() (files, output string, err error) {
		out, err := exec.CommandContext(testkit.Deadline(t), node[0], filepath.Join(sdk, "build.mjs")).CombinedOutput()
		built, globErr := filepath.Glob(filepath.Join(sdk, "dist*", "*"))
		if globErr != nil {
			t.Fatal(globErr)
		}
		for i, file := range built {
			built[i] = strings.TrimPrefix(filepath.ToSlash(file), filepath.ToSlash(sdk)+"/")
		}
		return strings.Join(built, " "), string(out), err
	}

	files, out, err := build()
	if err == nil || !strings.Contains(out, "make sdk-typescript") || files != "dist/old.js" {
		t.Errorf("without the compiler: %v, %s\n%s", err, files, out)
	}
	compiler, err := filepath.Abs("../../web/node_modules/typescript")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(modules, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(compiler, filepath.Join(modules, "typescript")); err != nil {
		t.Fatal(err)
	}
	if files, out, err := build(); err != nil || files != "dist/index.js" {
		t.Errorf("with the compiler: %v, %s\n%s", err, files, out)
	}
	write(t, filepath.Join(sdk, "src", "index.ts"), "export const n: number = 'one';\n")
	write(t, filepath.Join(sdk, "src", "more.ts"), "export const m: number = 1;\n")
	if files, out, err := build(); err == nil || !strings.Contains(out, "TS2322") || files != "dist/index.js" {
		t.Errorf("with an error in the sources: %v, %s\n%s", err, files, out)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
