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
		"npx vitest run a.test.ts":           `{"commands":["npx vitest run **"]}`,
		"npx eslint@9 src/a.ts":              `{"commands":["npx eslint@9 **"]}`,
		"npx tsc --noEmit -p web":            `{"commands":["npx tsc --noEmit -p **"]}`,
		"uvx ruff check src":                 `{"commands":["uvx ruff **"]}`,
		"npx --yes vitest run a":             `{"commands":["npx --yes vitest run a"]}`,
		"npx rimraf@5 dist":                  `{"commands":["npx rimraf@5 dist"]}`,
		"npx @x/rimraf dist":                 `{"commands":["npx @x/rimraf dist"]}`,
		"npx tsx a.ts":                       `{"commands":["npx tsx a.ts"]}`,
		"npx make a":                         `{"commands":["npx make a"]}`,
		"npx ./x a":                          `{"commands":["npx ./x a"]}`,
		"npx github:a/b c":                   `{"commands":["npx github:a/b c"]}`,
		"npx npx rimraf a":                   `{"commands":["npx npx rimraf a"]}`,
		"npx -- vitest a":                    `{"commands":["npx -- vitest a"]}`,
		"npx '' a":                           `{"commands":["npx '' a"]}`,
		"npx wrangler":                       `{"commands":["npx wrangler"]}`,
		"git":                                `{"commands":["git"]}`,
		"npm run":                            `{"commands":["npm run"]}`,
		"gh pr":                              `{"commands":["gh pr"]}`,
		"npx":                                `{"commands":["npx"]}`,
		"tsx a.ts":                           `{"commands":["tsx a.ts"]}`,
		"npm exec vitest a":                  `{"commands":["npm exec vitest a"]}`,
		"npm ci --prefix web":                `{"commands":["npm ci --prefix web **"]}`,
		"npm ci --prefix=web":                `{"commands":["npm ci '--prefix=web' **"]}`,
		"go build -o bin/x ./cmd/x":          `{"commands":["go build -o bin/x **"]}`,
		"cargo test --manifest-path a/b c":   `{"commands":["cargo test --manifest-path a/b **"]}`,
		"npm ci --prefix":                    `{"commands":["npm ci --prefix **"]}`,
		"cat .env":                           `{"commands":["cat .env"]}`,
		"git show HEAD:web/.env.local":       `{"commands":["git show HEAD:web/.env.local"]}`,
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

func TestMayDestroy_packaged(t *testing.T) {
	for text, want := range map[string]bool{
		"npx vitest run a": false, "npx eslint a": false, "npx vitest run rm": false,
		"npx rimraf a": true, "npx rimraf@5 a": true, "npx wrangler deploy": true, "npx kill-port 80": true, "bunx gh-pages -d dist": true,
	} {
		if got := MayDestroy(Parse(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
