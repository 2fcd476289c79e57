package argument

import (
	"fmt"
	"testing"
)

func TestMayDestroy(t *testing.T) {
	for text, want := range map[string]bool{
		"git diff a":                     false,
		"npm test":                       false,
		"make test":                      false,
		"echo rm":                        false,
		"grep 'rm -rf' x":                false,
		"find . -name x":                 false,
		"bash -c 'ls; git log'":          false,
		"sudo ls":                        false,
		"rm":                             true,
		"rm -rf build":                   true,
		"/bin/RM x":                      true,
		"ls && git push":                 true,
		"git -C x push":                  true,
		"ls | xargs rm":                  true,
		"sudo -u x rm y":                 true,
		"bash -c 'ls; rm x'":             true,
		"x=$(rm y)":                      true,
		"find . -name x -delete":         true,
		"find . -exec rm {} +":           true,
		"curl https://example.com":       true,
		"eval ls":                        true,
		"$x y":                           true,
		"docker compose -f x down --all": true,
		"ls (":                           true,
		"make deploy":                    true,
		"npm run deploy:prod":            true,
		"gh pr merge 5":                  true,
		"helm uninstall x":               true,
		"aws s3api delete-object":        true,
		"grep delete x":                  false,
		"gh pr view 5":                   false,
		"npm run build":                  false,
	} {
		if got := MayDestroy(Parse(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestExact(t *testing.T) {
	for text, want := range map[string]string{
		"git diff a":           "[git diff a]",
		"git  diff 'a'":        "[git diff a]",
		"cd x && ls -l 'a b'":  "[cd x ls -l 'a b']",
		"ls; ls; true":         "[ls]",
		"rm -rf build":         "[rm -rf build]",
		"ls > x":               "[]",
		"X=1 ls":               "[]",
		"ls *.go":              "[]",
		"echo $HOME":           "[]",
		"true":                 "[]",
		"ls (":                 "[]",
		"git diff a 2>&1":      "[git diff a]",
		"ls; echo '**'":        "[]",
		"git log --format='%'": "[git log '--format=%']",
	} {
		if got := fmt.Sprint(Exact(Parse(text))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestFamily(t *testing.T) {
	for text, want := range map[string]string{
		"git push origin main": "git push",
		"git":                  "git",
		"rm -rf build":         "rm",
		"npm run test x":       "npm run test",
		"'my tool' x":          "'my tool'",
		"git -C x push":        "",
		"ls; rm x":             "",
		"ls > x":               "",
		"X=1 ls":               "",
		"$x y":                 "",
		"ls (":                 "",
		"eval x":               "",
	} {
		got, ok := Family(Parse(text))
		if ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q %v, want %q", text, got, ok, want)
		}
	}
}

// A rule denies by what can be seen in a command, or also by what may be hidden in it.
func TestShell_Seen(t *testing.T) {
	rule, err := ParseShell(jsonValue(t, `{"commands": ["rm -rf **", "git push --force", "ssh **"], "write": {"below": "/etc"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][2]bool{
		"rm -rf x":                    {true, true},
		"make test && rm -r -f x":     {true, true},
		"sudo -u x rm -rf y":          {true, true},
		"bash -c 'ls; rm -rf x'":      {true, true},
		"ls | xargs rm -rf":           {true, true},
		"rm -rf $x":                   {true, true},
		"ssh host ls":                 {true, true},
		"echo x > /etc/passwd":        {true, true},
		"make test":                   {true, false},
		"eval \"$x\"":                 {true, false},
		"$x -rf y":                    {true, false},
		"rm $x":                       {true, false},
		"git push $x":                 {true, false},
		"echo x > $y":                 {true, false},
		"sudo $x":                     {true, false},
		"bash x.sh":                   {true, false},
		"ls (":                        {true, false},
		"git push --force-with-lease": {false, false},
		"git push origin main":        {false, false},
		"echo x > y":                  {false, false},
	} {
		at := Place{Root: "/r", Dir: "/r"}
		if got := [2]bool{rule.Denies(Parse(text), at), rule.Seen().Denies(Parse(text), at)}; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
