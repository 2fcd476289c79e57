package permissions

import (
	"fmt"
	"strings"
	"testing"
)

// summaries translates a file, and returns a line for each capability and each rule that is
// left.
func summaries(t *testing.T, program, text string, o Options) (out []string) {
	t.Helper()
	o.Participant, o.Home = "p", "/home/alice"
	result, err := Translate(program, []File{{Path: "f", Root: "/repo", Text: []byte(text)}}, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range result.Capabilities {
		c := &result.Capabilities[i]
		compileOne(t, c.value)
		params := c.value.get("payload").(object).get("params").(object)
		line := flow(params.get("name"))
		if c.commands {
			line += " runs " + flow(c.commandsOf())
		} else if arguments := params.get("arguments"); arguments != nil {
			line += " " + flow(arguments)
		}
		if note := c.Sources[0].Note; note != "" {
			line += "; " + note
		}
		out = append(out, line)
	}
	for _, l := range result.Left {
		out = append(out, fmt.Sprintf("left: %s", l.Reason))
	}
	return out
}

// Rules of Claude Code, each in a file of its own.
func TestTranslate_Claude(t *testing.T) {
	for _, test := range []struct{ effect, rule, want string }{
		{"allow", `Bash`, `Bash; any command`},
		{"allow", `Bash(*)`, `Bash; any command`},
		{"allow", `Bash(git status)`, `Bash runs ["git status"]`},
		{"allow", `Bash(git diff:*)`, `Bash runs ["git diff **"]; without options`},
		{"allow", `Bash(git diff *)`, `Bash runs ["git diff **"]; without options`},
		{"allow", `Bash(npm run test*)`, `Bash runs ["npm run test* **"]; without options`},
		{"allow", `Bash(git * main)`, `Bash runs ["git * main"]; a star is a part of one word`},
		{"allow", `Bash(git log --format=* HEAD)`, `Bash runs ["git log --format=* HEAD"]; a star is a part of one word`},
		{"allow", `Bash(ls -*)`, `Bash runs ["ls -* **"]; without options`},
		{"allow", `Bash(git push origin --delete x)`, `Bash runs ["git push origin --delete x"]`},
		{"allow", `Bash(git commit -m "a b":*)`, `Bash runs ["git commit -m \"a b\" **"]; without options`},
		{"allow", `Bash(git commit -m "a)`, `left: its quotes do not end`},
		{"allow", `Bash(echo "*")`, `left: it has quotes and a star`},
		{"allow", `Bash(ls*)`, `left: the name of its program has a star`},
		{"allow", `Bash(* --version)`, `left: the name of its program has a star`},
		{"allow", `Bash(:*)`, `left: it names no program`},
		{"allow", `Bash()`, `left: it names no program`},
		{"allow", `Bash(FOO=1 npm test)`, `left: it assigns a variable`},
		{"allow", `Bash(ls | wc -l)`, `left: it has an operator or an expansion of the shell`},
		{"allow", `Bash(echo $HOME)`, `left: it has an operator or an expansion of the shell`},
		{"allow", `Bash(cat ~/.ssh/config)`, `left: it has an operator or an expansion of the shell`},
		{"allow", `Bash(timeout 5 npm test)`, `left: Claude Code does not compare it with timeout alone, but with further commands`},
		{"allow", `Bash(xargs *)`, `left: Claude Code does not compare it with xargs alone, but with further commands`},
		{"allow", `Bash(cd *)`, `left: Claude Code does not compare it with cd alone, but with further commands`},
		{"allow", `Bash(watch *)`, `left: Claude Code does not compare it with watch alone, but with further commands`},
		{"allow", `Bash(git	status)`, `left: it has a character that is not seen`},
		{"allow", `Bash(git:* push)`, `left: the name of its program has a star`},
		{"allow", `"git" status`, `left: Claude Code ignores it: it names no tool`},
		{"allow", `Bash("git" status)`, `left: the name of its program has quotes`},
		{"allow", `Bash(npm run`, `left: it is neither Tool nor Tool(specifier)`},
		{"allow", `Bash (ls)`, `left: the specifier of Bash  is not known`},
		{"deny", `Bash`, `Bash`},
		{"deny", `Bash(*)`, `Bash`},
		{"deny", `Bash(rm:*)`, `Bash runs ["rm **"]`},
		{"deny", `Bash(rm -rf /)`, `Bash runs ["rm -rf /"]`},
		{"deny", `Bash(sudo*)`, `Bash {command: "**sudo**"}; a text in the command`},
		{"deny", `Bash(* --force)`, `Bash {command: "** --force**"}; a text in the command`},
		{"deny", `Bash(git * main)`, `Bash {command: "**git ** main**"}; a text in the command`},
		{"deny", `Bash(curl * | bash)`, `Bash {command: "**curl ** | bash**"}; a text in the command`},
		{"deny", `Bash(FOO=* rm)`, `Bash {command: "**FOO=** rm**"}; a text in the command`},
		{"deny", `Bash(echo "$X")`, `Bash {command: "**echo \"$X\"**"}; a text in the command`},
		{"deny", `Bash(run_in_background:true)`, `Bash {run_in_background: [true, "true"]}`},
		{"deny", `Bash(command:rm *)`, `left: Claude Code ignores it: write Bash(rm *)`},
		{"deny", `Bash( *)`, `Bash; every command`},
		{"ask", `Bash(git push:*)`, `Bash runs ["git push **"]`},
		{"allow", `Read`, `Read; any file`},
		{"allow", `Read(./docs/**)`, `Read {file_path: {$path: {below: docs}}}`},
		{"allow", `Read(docs/**)`, `Read {file_path: {$path: {below: docs}}}`},
		{"allow", `Read(**)`, `Read {file_path: {$path: {below: "."}}}`},
		{"allow", `Read(*)`, `Read {file_path: {$path: {below: "."}}}`},
		{"allow", `Read(.env)`, `Read {file_path: {$path: {below: ".env"}}}; only in the working directory itself`},
		{"allow", `Read(//**)`, `Read {file_path: {$path: {below: "/"}}}`},
		{"allow", `Read(//etc/hosts)`, `Read {file_path: {$path: {below: "/etc/hosts"}}}`},
		{"allow", `Read(~/.config/**)`, `Read {file_path: {$path: {below: "/home/alice/.config"}}}`},
		{"allow", `Read(~)`, `Read {file_path: {$path: {below: "/home/alice"}}}`},
		{"allow", `Edit(/src/**)`, `[Edit, Write] {file_path: {$path: {below: "/repo/src"}}}
NotebookEdit {notebook_path: {$path: {below: "/repo/src"}}}`},
		{"allow", `Edit(/**)`, `[Edit, Write] {file_path: {$path: {below: "/repo"}}}
NotebookEdit {notebook_path: {$path: {below: "/repo"}}}`},
		{"allow", `Edit(src/)`, `[Edit, Write] {file_path: {$path: {below: src}}}
NotebookEdit {notebook_path: {$path: {below: src}}}`},
		{"allow", `Edit(src/**/*)`, `[Edit, Write] {file_path: {$path: {below: src}}}
NotebookEdit {notebook_path: {$path: {below: src}}}`},
		{"allow", `Edit(src/**/*.ts)`, `left: a pattern of names; $path has whole folders`},
		{"allow", `Edit(**/src/**)`, `left: a pattern of names; $path has whole folders`},
		{"allow", `Edit(../other/**)`, `left: it begins with ..; write an absolute path`},
		{"allow", `Edit(a/../b)`, `left: it has .., . or an empty name`},
		{"allow", `Edit(//a//b)`, `left: it has .., . or an empty name`},
		{"allow", `Edit(a\\b)`, `left: a name with a \`},
		{"allow", `Edit(./~/a)`, `left: a name in the working directory that $path reads otherwise`},
		{"allow", `Edit(./C:/a)`, `left: a name in the working directory that $path reads otherwise`},
		{"allow", `Edit(a:b)`, `left: the segment "a:b" has a colon, which Windows reads as a drive or stream`},
		{"allow", `Edit(src/{a,b}/**)`, `left: a pattern of names; $path has whole folders`},
		{"deny", `Edit(src/{a,b}/**)`, `[Edit, Write, MultiEdit] {file_path: ["src/*", "src/*/**", "**/src/*", "**/src/*/**"]}
NotebookEdit {notebook_path: ["src/*", "src/*/**", "**/src/*", "**/src/*/**"]}`},
		{"allow", `Edit(\[a\]/**)`, `[Edit, Write] {file_path: {$path: {below: "[a]"}}}
NotebookEdit {notebook_path: {$path: {below: "[a]"}}}`},
		{"allow", `Edit(a\*b)`, `left: a name with a star`},
		{"allow", `Edit(!x)`, `left: a pattern that is negated`},
		{"allow", `Write(docs/**)`, `left: Claude Code ignores it: write Edit(docs/**) or Read(docs/**)`},
		{"allow", `Write(*)`, `left: Claude Code ignores it: write Edit(*) or Read(*)`},
		{"allow", `Write`, `Write; any file`},
		{"allow", `Glob(docs/**)`, `left: Claude Code ignores it: write Edit(docs/**) or Read(docs/**)`},
		{"allow", `Read(C:\Users\**)`, `left: Claude Code ignores it: a drive is written //c/`},
		{"deny", `Read(C:\Users\**)`, `[Read, Edit, Write, MultiEdit] {file_path: {$path: {below: "C:/Users"}}}
[Glob, Grep] {path: {$path: {below: "C:/Users"}}}`},
		{"deny", `Read(.env)`, `[Read, Edit, Write, MultiEdit] {file_path: [".env", ".env/**", "**/.env", "**/.env/**"]}
[Glob, Grep] {path: [".env", ".env/**", "**/.env", "**/.env/**"]}`},
		{"deny", `Read(./secrets/**)`, `[Read, Edit, Write, MultiEdit] {file_path: [secrets, "secrets/**", "**/secrets", "**/secrets/**"]}
[Glob, Grep] {path: [secrets, "secrets/**", "**/secrets", "**/secrets/**"]}`},
		{"deny", `Read(**/*.key)`, `[Read, Edit, Write, MultiEdit] {file_path: ["*.key", "*.key/**", "**/*.key", "**/*.key/**"]}
[Glob, Grep] {path: ["*.key", "*.key/**", "**/*.key", "**/*.key/**"]}`},
		{"deny", `Read(//etc/**)`, `[Read, Edit, Write, MultiEdit] {file_path: {$path: {below: "/etc"}}}
[Glob, Grep] {path: {$path: {below: "/etc"}}}`},
		{"deny", `Read(//etc/*.conf)`, `[Read, Edit, Write, MultiEdit] {file_path: ["/etc/*.conf", "/etc/*.conf/**"]}
[Glob, Grep] {path: ["/etc/*.conf", "/etc/*.conf/**"]}`},
		{"deny", `Edit(src/components/**)`, `[Edit, Write, MultiEdit] {file_path: {$path: {below: src/components}}}
NotebookEdit {notebook_path: {$path: {below: src/components}}}`},
		{"deny", `Edit(src/**/gen?.ts)`, `[Edit, Write, MultiEdit] {file_path: ["src/**gen*.ts", "src/**gen*.ts/**", "**/src/**gen*.ts", "**/src/**gen*.ts/**"]}
NotebookEdit {notebook_path: ["src/**gen*.ts", "src/**gen*.ts/**", "**/src/**gen*.ts", "**/src/**gen*.ts/**"]}`},
		{"deny", `Edit([ab].txt)`, `[Edit, Write, MultiEdit] {file_path: ["*.txt", "*.txt/**", "**/*.txt", "**/*.txt/**"]}
NotebookEdit {notebook_path: ["*.txt", "*.txt/**", "**/*.txt", "**/*.txt/**"]}`},
		{"deny", `Edit(../../x/**)`, `[Edit, Write, MultiEdit] {file_path: [x, "x/**", "**/x", "**/x/**"]}
NotebookEdit {notebook_path: [x, "x/**", "**/x", "**/x/**"]}`},
		{"deny", `Edit(..)`, `[Edit, Write, MultiEdit]; every call
NotebookEdit; every call`},
		{"deny", `Edit(!x)`, `[Edit, Write, MultiEdit]; every call
NotebookEdit; every call`},
		{"deny", `Write(/dist/**)`, `[Edit, Write, MultiEdit] {file_path: {$path: {below: "/repo/dist"}}}
NotebookEdit {notebook_path: {$path: {below: "/repo/dist"}}}`},
		{"deny", `NotebookEdit(x)`, `[Edit, Write, MultiEdit] {file_path: [x, "x/**", "**/x", "**/x/**"]}
NotebookEdit {notebook_path: [x, "x/**", "**/x", "**/x/**"]}`},
		{"ask", `Read(.env)`, `Read {file_path: [".env", ".env/**", "**/.env", "**/.env/**"]}
[Glob, Grep] {path: [".env", ".env/**", "**/.env", "**/.env/**"]}`},
		{"deny", `Edit`, `[Edit, MultiEdit, NotebookEdit, Write]`},
		{"deny", `Read`, `[Glob, Grep, Read]`},
		{"allow", `WebFetch`, `WebFetch; any URL`},
		{"allow", `WebFetch(domain:Example.com.)`, `WebFetch {url: {$url: {host: example.com}}}`},
		{"allow", `WebFetch(domain:*.example.com)`, `WebFetch {url: {$url: {host: "*.example.com"}}}`},
		{"allow", `WebFetch(domain:*)`, `WebFetch; any URL`},
		{"allow", `WebFetch(domain:example.*)`, `left: it is neither a host nor *.HOST`},
		{"allow", `WebFetch(domain:example.0)`, `left: it is neither a host nor *.HOST`},
		{"deny", `WebFetch(domain:example.0)`, `WebFetch {url: "/(?i)example\\.0/"}; a text in the URL`},
		{"allow", `WebFetch(https://example.com)`, `left: expected WebFetch(domain:HOST)`},
		{"deny", `WebFetch(domain:example.*)`, `WebFetch {url: "/(?i)example\\..*/"}; a text in the URL`},
		{"deny", `WebFetch(domain:*)`, `WebFetch; any URL`},
		{"allow", `mcp__github`, `"mcp__github__*"`},
		{"allow", `mcp__github__*`, `"mcp__github__*"`},
		{"allow", `mcp__github__get_issue`, `mcp__github__get_issue`},
		{"allow", `mcp__claude_ai_Google Drive__list`, `"mcp__claude_ai_Google Drive__list"`},
		{"allow", `mcp__*`, `left: Claude Code ignores it: it names no server`},
		{"allow", `mcp__gith*__x`, `left: Claude Code ignores it: it names no server`},
		{"allow", `mcp__github__x(a)`, `left: Claude Code ignores it: a rule of an MCP tool has no specifier`},
		{"allow", `*`, `left: Claude Code ignores it: it names no tool`},
		{"allow", `B*`, `left: Claude Code ignores it: it names no tool`},
		{"deny", `mcp__*`, `"mcp__**"`},
		{"deny", `mcp__github`, `"mcp__github__**"`},
		{"deny", `mcp__github__x(a)`, `mcp__github__x`},
		{"deny", `*`, `"**"`},
		{"allow", `Agent(Explore)`, `[Agent, Task] {subagent_type: Explore}`},
		{"allow", `Agent(*)`, `left: it does not name one agent`},
		{"deny", `Task(Explore)`, `[Agent, Task] {subagent_type: Explore}`},
		{"deny", `Agent(model:opus)`, `[Agent, Task] {model: opus}
[Agent, Task] {subagent_type: "model:opus"}`},
		{"deny", `Agent(model:!x)`, `[Agent, Task]; every call`},
		{"allow", `Agent(model:opus)`, `[Agent, Task] {subagent_type: "model:opus"}`},
		{"deny", `Skill(deploy *)`, `Skill; every call`},
		{"allow", `Skill(deploy)`, `left: the specifier of Skill is not known`},
		{"allow", `Skill`, `Skill`},
		{"allow", `Cd(~/code/**)`, `left: it is about the command /cd, which is no call`},
		{"deny", `Cd`, `left: it is about the command /cd, which is no call`},
		{"allow", `PowerShell(Get-Item *)`, `left: the specifier of PowerShell is not known`},
		{"deny", `PowerShell(Remove-Item *)`, `PowerShell; every call`},
		{"allow", `WebSearch`, `WebSearch`},
		{"deny", `Stop Task!`, `left: it names no tool`},
		{"deny", `Agent(plugin:reviewer)`, `[Agent, Task] {plugin: reviewer}
[Agent, Task] {subagent_type: "plugin:reviewer"}`},
		{"deny", `Bash(npm:test)`, `Bash {npm: test}
Bash runs ["npm:test"]`},
		{"deny", `Skill(plugin:x)`, `Skill; every call`},
		{"deny", `Read(a:b)`, `Read {a: b}
[Read, Edit, Write, MultiEdit] {file_path: ["a:b", "a:b/**", "**/a:b", "**/a:b/**"]}
[Glob, Grep] {path: ["a:b", "a:b/**", "**/a:b", "**/a:b/**"]}`},
		{"deny", `Agent(max:3)`, `[Agent, Task] {max: [3, "3"]}`},
	} {
		t.Run(test.effect+" "+test.rule, func(t *testing.T) {
			text := `{"permissions":{"` + test.effect + `":[` + string(encode(test.rule)) + `]}}`
			if got := strings.Join(summaries(t, "claude", text, Options{}), "\n"); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// Rules of Cursor, of its CLI and of its editor.
func TestTranslate_Cursor(t *testing.T) {
	for _, test := range []struct{ effect, rule, want string }{
		{"allow", `Shell(git)`, `Shell runs ["git **"]; without options`},
		{"allow", `Shell(curl:*)`, `Shell runs ["curl **"]; without options`},
		{"allow", `Shell(npm:run build)`, `Shell runs ["npm run build"]`},
		{"allow", `Shell(npm:install*)`, `Shell runs ["npm install* **"]; without options`},
		{"allow", `Shell(*)`, `Shell; any command`},
		{"allow", `Shell(**)`, `Shell; any command`},
		{"allow", `Shell(git*)`, `left: the name of its program has a star`},
		{"allow", `Shell(git status)`, `left: it is not clear whether Cursor compares more than the first word; write Shell(program:arguments)`},
		{"allow", `Shell()`, `left: it has no pattern`},
		{"deny", `Shell(rm)`, `Shell runs ["rm **"]`},
		{"deny", `Shell(git push)`, `Shell runs ["git push **"]`},
		{"deny", `Shell(rm:-rf *)`, `Shell runs ["rm -rf **"]`},
		{"deny", `Shell(*)`, `Shell; every command`},
		{"allow", `Read(src/**)`, `Read {file_path: {$path: {below: src}}}`},
		{"allow", `Read(src/**/*.ts)`, `left: a pattern of names; $path has whole folders`},
		{"allow", `Read(/etc/passwd)`, `Read {file_path: {$path: {below: "/etc/passwd"}}}`},
		{"allow", `Write(package.json)`, `Write {file_path: {$path: {below: package.json}}}; only in the working directory itself`},
		{"deny", `Read(.env*)`, `[Glob, Grep, Read] [{"*file*": [".env*", ".env*/**", "**/.env*", "**/.env*/**"]}, {"*path*": [".env*", ".env*/**", "**/.env*", "**/.env*/**"]}]`},
		{"deny", `Write(/etc/**)`, `[Delete, Edit, Write] [{"*file*": {$path: {below: "/etc"}}}, {"*path*": {$path: {below: "/etc"}}}]`},
		{"deny", `Write(!x)`, `[Delete, Edit, Write]; every call`},
		{"allow", `WebFetch(docs.github.com)`, `WebFetch {url: {$url: {host: docs.github.com}}}`},
		{"allow", `WebFetch(*)`, `WebFetch; any URL`},
		{"deny", `WebFetch(malicious-site.com)`, `WebFetch {url: {$url: {host: malicious-site.com}}}`},
		{"allow", `Mcp(datadog:*)`, `left: the hooks of Cursor do not name the server of a tool`},
		{"allow", `Mcp(*:search)`, `"MCP:search"`},
		{"allow", `Mcp(*:*)`, `"MCP:*"`},
		{"deny", `Mcp(datadog:delete*)`, `["MCP:delete**", "delete**"]; of all servers`},
		{"deny", `Mcp(*:delete)`, `["MCP:delete", delete]`},
		{"allow", `Mcp(datadog)`, `left: it is not of the form server:tool`},
		{"allow", `Bash(ls)`, `left: its type is not Shell, Read, Write, WebFetch or Mcp`},
		{"allow", `ls`, `left: it is not of the form Type(pattern)`},
		{"terminalAllowlist", `git`, `Shell runs ["git **"]; without options`},
		{"terminalAllowlist", `cargo build`, `Shell runs ["cargo build **"]; without options`},
		{"terminalAllowlist", `npm:install*`, `Shell runs ["npm install* **"]; without options`},
		{"mcpAllowlist", `*:search`, `"MCP:search"`},
		{"mcpAllowlist", `linear:list_issues`, `left: the hooks of Cursor do not name the server of a tool`},
	} {
		t.Run(test.effect+" "+test.rule, func(t *testing.T) {
			text := `{"permissions":{"` + test.effect + `":[` + string(encode(test.rule)) + `]}}`
			if strings.HasSuffix(test.effect, "Allowlist") {
				text = `{"` + test.effect + `":[` + string(encode(test.rule)) + `]}`
			}
			if got := strings.Join(summaries(t, "cursor", text, Options{}), "\n"); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
