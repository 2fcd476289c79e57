package argument

import (
	"regexp"
	"slices"
)

// runsText are builtins that run a text, or change what a later command means.
var runsText = []string{
	"eval", "source", ".", "exec", "trap", "alias", "hash", "enable", "bind", "complete", "compgen", "compopt", "mapfile",
	"readarray", "fc", "coproc", "shopt", "emulate", "zmodload", "autoload",
}

// setsState are builtins that change variables or options of the shell.
var setsState = []string{
	"read", "set", "unset", "unalias", "getopts", "let", "declare", "typeset", "local", "readonly", "export", "nameref", "noglob", "nocorrect",
}

// builtins are names for which a shell may run a builtin rather than a function.
var builtins = slices.Concat(runsText, setsState, []string{"cd", "pushd", "popd", "command", "builtin"})

// setOptions are the words with which set changes nothing but how errors end and are shown.
var setOptions = []string{"-e", "-u", "-x", "-eu", "-ex", "-ux", "-eux", "-euo", "-euxo", "-exo", "-eo", "-uo", "-o", "errexit", "nounset", "pipefail", "xtrace"}

// evaluates are builtins that take a word as the name of a variable or as arithmetic, in Bash or in zsh.
var evaluates = []string{"test", "[", "printf", "wait", "exit", "return", "break", "continue", "shift", "ulimit"}

// runsValue are variables whose values programs and shells run as a command.
var runsValue = []string{
	"PS4", "PROMPT_COMMAND", "PAGER", "MANPAGER", "GIT_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_SSH", "GIT_SSH_COMMAND",
	"GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "GIT_PROXY_COMMAND", "SSH_ASKPASS", "SUDO_ASKPASS", "LESSOPEN", "LESSCLOSE", "BROWSER",
}

// shells run a text after -c, and otherwise a file or their input.
var shells = []string{"sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "rbash", "csh", "tcsh", "yash", "posh", "osh", "nu", "elvish", "xonsh"}

// lowerCase are variables in lower case that programs or zsh read.
var lowerCase = []string{"path", "fpath", "cdpath", "manpath", "mailpath", "prompt", "argv", "status", "histchars", "watch"}

// wrappers run a command that is among their words.
var wrappers = []string{
	"sudo", "doas", "env", "timeout", "gtimeout", "nice", "ionice", "chrt", "taskset", "nohup", "setsid", "xargs", "time",
	"command", "builtin", "exec", "find", "fd", "stdbuf", "unbuffer", "watch", "strace", "ltrace", "busybox", "toybox", "flock",
	"caffeinate", "chroot", "unshare", "nsenter", "systemd-run", "rlwrap", "script", "su", "runuser", "setpriv", "prlimit", "arch",
	"noglob", "nocorrect", "repeat", "jobs", "runcon", "setarch", "linux32", "linux64", "choom", "sg", "pkexec", "fakeroot", "ssh-agent",
	"dbus-run-session", "sshpass", "entr", "hyperfine", "perf", "valgrind", "direnv", "mise", "asdf", "pipenv", "bundle", "conda", "nix-shell",
}

// appenders append words to the command that they run.
var appenders = []string{"xargs", "find", "fd"}

// hiding are programs that run a command or a text elsewhere or in another language. The
// value lists words without which they do not; none: they always do.
var hiding = map[string][]string{
	"ssh": nil, "npx": nil, "pnpx": nil, "bunx": nil, "uvx": nil, "make": nil, "gmake": nil, "just": nil, "at": nil, "batch": nil,
	"crontab": nil, "expect": nil, "gdb": nil, "lldb": nil, "tmux": nil, "screen": nil, "socat": nil, "osascript": nil, "wsl": nil,
	"pwsh": nil, "powershell": nil, "powershell.exe": nil, "cmd": nil, "cmd.exe": nil, "ed": nil, "ex": nil, "vi": nil, "vim": nil,
	"nvim": nil, "emacs": nil, "awk": nil, "gawk": nil, "mawk": nil, "nawk": nil, "tclsh": nil, "perl": nil, "ruby": nil, "lua": nil,
	"docker": {"exec", "run", "compose"}, "podman": {"exec", "run", "compose"}, "nerdctl": {"exec", "run"},
	"kubectl": {"exec", "run", "debug"}, "npm": {"exec", "x", "run", "run-script", "test", "tst", "t", "start", "restart", "stop"}, "pnpm": {"exec", "dlx", "run"},
	"yarn": {"exec", "dlx", "run"}, "bun": {"x", "run", "-e", "--eval"}, "pipx": {"run"}, "uv": {"run"}, "poetry": {"run"},
	"python": {"-c", "-"}, "pypy": {"-c", "-"}, "node": {"-e", "--eval", "-p", "--print", "-"}, "nodejs": {"-e", "--eval", "-p", "--print", "-"}, "deno": {"eval", "run"},
	"php": {"-r", "-"}, "git": {"-c", "--config-env", "--exec-path", "--upload-pack", "--receive-pack", "--open-files-in-pager", "-O", "bisect", "foreach", "rebase", "difftool", "mergetool", "filter-branch"},
	"tar": {"--to-command", "--checkpoint-action", "-I", "--use-compress-program"}, "rsync": {"-e", "--rsh"}, "env": {"-S", "--split-string"},
	"nc": {"-e", "-c"}, "ncat": {"-e", "-c"}, "vipe": nil, "parallel": nil, "split": {"--filter"}, "sort": {"--compress-program"}, "sed": {"-f"},
}

// subcommands are programs whose first word says what they do.
var subcommands = []string{
	"git", "go", "npm", "pnpm", "yarn", "cargo", "docker", "podman", "kubectl", "gh", "glab", "pip", "pip3", "uv", "poetry", "terraform",
	"helm", "aws", "gcloud", "az", "apt", "apt-get", "brew", "systemctl", "rustup", "dotnet", "mvn", "gradle", "bundle", "rails", "mix", "deno", "bun",
	"vitest", "playwright", "prisma", "wrangler", "turbo", "nx", "firebase", "vercel",
}

// packaged run the program of a package, which they name.
var packaged = []string{"npx", "pnpx", "bunx", "uvx"}

// operandRunners run a file, a script or a command that an operand names. Beside [hiding] and [wrappers],
// they are allowed only as they are.
var operandRunners = []string{
	"npm exec", "npm x", "tsx", "ts-node", "ts-node-esm", "esno", "zx", "shx", "nodemon", "cross-env", "cross-env-shell", "dotenv", "env-cmd", "concurrently",
	"npm-run-all", "run-s", "run-p", "ipython",
}

// placing match options whose value is a folder or a file that a command works in or writes to.
var placing = regexp.MustCompile(`^(-[Co]|--?(?i:[\w-]*(prefix|cwd|dir|directory|folder|path|root|tree|project|workspace|file|config|home|output|out|target|dest|destination)))$`)

// nested are programs, or a program and its subcommand, of which one more word says what they do.
var nested = []string{
	"gh", "glab", "aws", "gcloud", "az", "npm run", "pnpm run", "yarn run", "bun run", "docker compose", "git worktree", "git submodule", "git notes",
	"go mod", "uv pip",
}

// targets are programs whose first word is a target of the project.
var targets = []string{"make", "just", "task", "rake", "ant", "invoke"}

// risky matches names of subcommands and targets that change what cannot be taken back.
var risky = regexp.MustCompile(`(?i)delete|remove|destroy|deploy|publish|truncate|terminate|uninstall|unlink|revoke|shutdown|` +
	`(^|[^a-z])(drop|send|push|exec|kill|wipe|purge|erase|evict|merge|reset|rollback|release|prune|clean|rm|apply)([^a-z]|$)`)

// destructive are commands that a rule never generalizes. They are programs, or a program and
// its subcommand.
var destructive = []string{
	"rm", "rmdir", "dd", "mkfs", "shred", "truncate", "mv", "chmod", "chown", "chgrp", "ln", "kill", "killall", "pkill", "reboot", "shutdown",
	"mount", "umount", "curl", "wget", "nc", "scp", "rsync", "tee", "sed", "git push", "git reset", "git clean", "git checkout", "git restore", "git rm", "git branch",
	"git tag", "git remote", "git config", "git stash", "git rebase", "git filter-branch", "git reflog", "git gc", "docker rm", "docker rmi", "docker system",
	"docker volume", "kubectl delete", "kubectl apply", "terraform apply", "terraform destroy", "npm publish", "cargo publish", "gh api", "gh repo", "systemctl stop",
	"rimraf", "del", "trash", "gh-pages", "np", "degit",
}
