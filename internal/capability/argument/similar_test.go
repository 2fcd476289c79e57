package argument

import (
	"encoding/json"
	"testing"
)

func TestSimilar(t *testing.T) {
	for text, want := range map[string]string{
		"git diff a/b":                       `{"commands":["git diff **"]}`,
		"git log --oneline -5 src":           `{"commands":["git log --oneline -5 **"]}`,
		"go test ./... -run TestX":           `{"commands":["go test ./... -run **"]}`,
		"cd web && npm test 2>&1 | tail -20": `{"commands":["cd web","npm test **","tail -20 **"]}`,
		"rm -rf build":                       `{"commands":["rm -rf build"]}`,
		"git push origin main":               `{"commands":["git push origin main"]}`,
		"bash -c 'git log'":                  `{"commands":["bash -c 'git log'"]}`,
		"gh pr view 5":                       `{"commands":["gh pr view **"]}`,
		"gh --repo x pr view":                `{"commands":["gh --repo x pr view"]}`,
		"gh api x":                           `{"commands":["gh api x"]}`,
		"npm run test a":                     `{"commands":["npm run test **"]}`,
		"npm install x":                      `{"commands":["npm install **"]}`,
		"git worktree list":                  `{"commands":["git worktree list **"]}`,
		"git -C x push":                      `{"commands":["git -C x push"]}`,
		"./build.sh x":                       `{"commands":["./build.sh x"]}`,
		"grep -n 'a b' x > out/x || true":    `{"commands":["grep -n **"],"write":{"below":["out/x"]}}`,
		"CI=1 npm test < in":                 `{"commands":["npm test **"],"env":["CI"],"read":{"below":["in"]}}`,
		"echo a; echo b":                     `{"commands":["echo **"]}`,
		"python3 x.py":                       `{"commands":["python3 x.py"]}`,
		"python3.11 x.py":                    `{"commands":["python3.11 x.py"]}`,
		"cd web && ./build.sh":               "",
		"echo $HOME":                         "",
		"eval ls":                            "",
		"ls *.go":                            "",
		"echo '*'":                           "",
		"ls (":                               "",
	} {
		value, ok := Similar(Parse(text))
		got, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s: %s %v, want %s", text, got, ok, want)
		}
		if !ok {
			continue
		}
		if r := shellRule(t, text, string(got)); !r.Allows(Parse(text), Place{}) {
			t.Errorf("%s is not allowed by %s: %v", text, got, r.Explain(Parse(text), Place{}))
		}
	}
}
