package argument

import (
	"slices"
	"strings"
	"testing"
)

// unescape has the characters that argv cannot have in a word.
var unescape = strings.NewReplacer("␣", " ", "␤", "\n", "''", "")

// argv splits a command at spaces; "␣" is a space inside a word, "␤" a line break and "”" an empty word.
func argv(command string) []string {
	words := strings.Fields(command)
	for i, word := range words {
		words[i] = unescape.Replace(word)
	}
	return words
}

func TestReadsOnly(t *testing.T) {
	for _, tt := range []struct{ command, operands string }{
		{"ls", "."},
		{"ls -la", "."},
		{"ls -lah --color=always --sort=time src ..", "src .."},
		{"ls -1 -- -x", "-x"},
		{"cat a ../b", "a ../b"},
		{"cat -A -", ""},
		{"cat -nA --number - a", "a"},
		{"cat -- -n", "-n"},
		{"head -20 x", "x"},
		{"head -n5 x", "x"},
		{"head -n 5 x", "x"},
		{"head -n -5 x", "x"},
		{"head --lines=5 x", "x"},
		{"head --lines 5 x", "x"},
		{"head x -n 5", "x"},
		{"head -c 10k -q a b", "a b"},
		{"tail -f log", "log"},
		{"tail -n +20 x", "x"},
		{"wc -l a b", "a b"},
		{"stat -c %s a", "a"},
		{"stat -f %z a", "%z a"},
		{"file -b --mime-type a", "a"},
		{"du -sh", "."},
		{"du -h -d 1 src", "src"},
		{"du -X list src", "list src"},
		{"df -h", ""},
		{"tree", "."},
		{"tree -L 2 -I node_modules src", "src"},
		{"tree src -L 2 -a --dirsfirst", "src"},
		{"realpath --relative-to=../x a", "../x a"},
		{"readlink -f a", "a"},
		{"basename a/b .go", ""},
		{"dirname /etc/x", ""},

		{"find", "."},
		{"find . -name *.go", "."},
		{"find -L src test -type f ( -name a -o -name b ) -print0", "src test"},
		{"find src ! -path */x/* -mtime -7 -size +10k -perm -u+x", "src"},
		{"find . -newer ../b -prune", "../b ."},
		{"find . -name -delete", "."},
		{"find . -maxdepth 2 -printf %p\\n", "."},
		{"fd", "."},
		{"fd pattern", "."},
		{"fd -e go -H pattern src", "src"},
		{"fd pattern src -t f --exclude x", "src"},
		{"fdfind -t f pattern", "."},

		{"grep pat", ""},
		{"grep pat y", "y"},
		{"grep -rn pat", "."},
		{"grep -rn pat src --include=*.go", "src"},
		{"grep -rn pat src --include *.go", "src"},
		{"grep -f x pat y", "x pat y"},
		{"grep -fx y", "x y"},
		{"grep --file=../x y", "../x y"},
		{"grep -e a -e b y", "y"},
		{"grep y -e a", "y"},
		{"grep --regexp=a y", "y"},
		{"grep -A3 -B 3 -5 -- -pat y", "y"},
		{"grep -inE a|b -", ""},
		{"egrep -v a y", "y"},
		{"fgrep -c a y", "y"},
		{"rg pat", "."},
		{"rg -n pat src test", "src test"},
		{"rg pat src -g *.go -C3", "src"},
		{"rg --files src", "src"},
		{"rg --files", "."},
		{"rg -e pat src", "src"},
		{"rg -tgo -uu --hidden --no-ignore -l pat", "."},
		{"rg --ignore-file x pat src", "x src"},
		{"sed -n 1,20p file", "file"},
		{"sed -n 5p a b", "a b"},
		{"sed -n 5,$p a", "a"},
		{"sed -n /start/,/end/p a", "a"},
		{"jq . a.json", "a.json"},
		{"jq", ""},
		{"jq -r .env.PATH a", "a"},
		{"jq -rc .environment,.include a", "a"},
		{"jq --arg x y .a==$x a", "a"},
		{"jq --slurpfile x ../b . a", "../b a"},
		{"jq --indent 2 --sort-keys . a", "a"},
		{"sort -u a", "a"},
		{"sort -t, -k2,2nr a", "a"},
		{"sort a -k 2", "a"},
		{"sort -t : -k 3 -n", ""},
		{"sort --random-source=../x a", "../x a"},
		{"uniq -c", ""},
		{"uniq -c a", "a"},
		{"uniq -f 1 -", ""},
		{"cut -d: -f1,3 a", "a"},
		{"cut -d - -f 2", ""},
		{"tr -d \\n", ""},
		{"tr a-z A-Z", ""},
		{"nl -ba a", "a"},
		{"tac a", "a"},
		{"rev a", "a"},
		{"column -t -s, a", "a"},
		{"comm -12 a b", "a b"},
		{"join -t , -1 2 -2 1 a b", "a b"},
		{"paste -sd, a", "a"},
		{"fold -sw 80 a", "a"},
		{"expand -t4 a", "a"},
		{"diff -u a ../b", "a ../b"},
		{"diff -ruN -x .git a b", "a b"},
		{"diff --from-file=../x a", "../x a"},
		{"diff -U3 a -", "a"},
		{"cmp -s a b", "a b"},
		{"md5sum a", "a"},
		{"sha256sum -b a b", "a b"},
		{"shasum -a 256 a", "a"},
		{"cksum a", "a"},
		{"base64 -w0 a", "a"},
		{"base64 -d", ""},
		{"xxd -l 16 a", "a"},
		{"xxd -ps", ""},
		{"od -An -tx1 a", "a"},
		{"hexdump -C -n 16 a", "a"},
		{"strings -n 8 a", "a"},

		{"pwd", ""},
		{"echo -n -e /etc/x > --output", ""},
		{"printf %s\\n -v $x", ""},
		{"printf %5d|%.2f 3 4.5", ""},
		{"true", ""},
		{"test -f a", "a"},
		{"[ -d ../a ]", "../a"},
		{"[ ! -e a ]", "a"},
		{"[ -n '' ]", ""},
		{"[ a = b ]", ""},
		{"test 1 -lt -2", ""},
		{"test a -nt ../b", "a ../b"},
		{"type -a go", ""},
		{"which -a go", ""},
		{"command -v go", ""},
		{"seq -5 2 5", ""},
		{"date", ""},
		{"date -u +%Y-%m-%d", ""},
		{"date --date=yesterday +%s", ""},
		{"date -r ../a +%s", "../a"},
		{"date -v-1d +%F", ""},
		{"uname -a", ""},
		{"whoami", ""},
		{"id -u", ""},
		{"hostname", ""},
		{"nproc --all", ""},
		{"go version", ""},
		{"go version -m bin/x", "bin/x"},
		{"go env GOPATH", ""},
		{"go env -json", ""},
		{"node --version", ""},
		{"python3 -V", ""},
		{"pip3 list --format=json", ""},
		{"pip show requests", ""},
		{"docker ps -aq --filter name=x", ""},
		{"docker images", ""},
		{"jq --version", ""},
		{"rg --help", ""},

		{"git --version", ""},
		{"git status", "."},
		{"git status -sb --porcelain=v2", "."},
		{"git status -uno docs", ". docs"},
		{"git --no-pager log -5", "."},
		{"git --no-optional-locks status", "."},
		{"git log --oneline --graph -n 5 main..x", ". main..x"},
		{"git log -n5 --format=%h␣%s --author=x --since yesterday -- ../a", ". ../a"},
		{"git log -p -S foo --stat -- -x", ". -x"},
		{"git log -L 1,5:a.go", "."},
		{"git diff", "."},
		{"git diff --cached --stat HEAD~1 -- a", ". HEAD~1 a"},
		{"git diff --no-index /etc/a b", ". /etc/a b"},
		{"git diff -U10 -w a b --name-only", ". a b"},
		{"git show HEAD:a", ". HEAD:a"},
		{"git blame -L 1,20 -w a", ". a"},
		{"git blame --contents ../x a", "../x . a"},
		{"git blame -S revs a", "revs . a"},
		{"git rev-parse --show-toplevel", "."},
		{"git rev-parse --abbrev-ref HEAD", ". HEAD"},
		{"git ls-files -o --exclude-standard", "."},
		{"git ls-files -X x", "x ."},
		{"git ls-tree -r HEAD --name-only", ". HEAD"},
		{"git cat-file -p HEAD:a", ". HEAD:a"},
		{"git describe --tags --always --dirty", "."},
		{"git shortlog -sne HEAD", ". HEAD"},
		{"git rev-list --count HEAD", ". HEAD"},
		{"git branch", "."},
		{"git branch -avv", "."},
		{"git branch --show-current", "."},
		{"git branch --contains abc", "."},
		{"git branch --merged", "."},
		{"git branch --list x*", "."},
		{"git tag", "."},
		{"git tag -l v*", "."},
		{"git tag --list --sort=-v:refname", "."},
		{"git remote -v", "."},
		{"git remote get-url origin", "."},
		{"git stash list", "."},
		{"git stash show -p stash@{0}", ". stash@{0}"},
		{"git config --get user.name", "."},
		{"git config --list --show-origin", "."},
		{"git reflog", "."},
		{"git reflog show -5 main", ". main"},
		{"git merge-base main HEAD", ". main HEAD"},
		{"git name-rev --name-only HEAD", ". HEAD"},
		{"git for-each-ref --format=%(refname) refs/heads", "."},
		{"git count-objects -vH", "."},
		{"git grep -n pat -- src", ". src"},
		{"git grep -e pat ../src", ". ../src"},
		{"git grep -f ../x src", "../x . src"},
		{"git symbolic-ref --short HEAD", ". HEAD"},
		{"git worktree list --porcelain", "."},
		{"git submodule status", "."},
		{"git check-ignore -v a", ". a"},
	} {
		t.Run(tt.command, func(t *testing.T) {
			operands, ok := readsOnly(argv(tt.command))
			if !ok || !slices.Equal(operands, strings.Fields(tt.operands)) {
				t.Errorf("%q, %v, want %q", operands, ok, tt.operands)
			}
		})
	}
}

func TestReadsMore(t *testing.T) {
	for _, command := range []string{
		"", "''", "nosuch", "/bin/cat a", "./cat a", "git", "go", "Cat a", "cat␣a", "git␣log", "git stash␣list",

		// Options that are not in the table, also of another version.
		"cat -l a", "cat --nosuch a", "cat a -l", "ls -D %s a", "ls -I x", "head -x a", "head -n5x -y a", "head --lines5 a", "wc --files0-from=x", "wc --files0-from x",
		"du --files0-from=x", "du --files0 x", "cat --number=3 a", "head -n --output a", "head a -n /etc/passwd", "head a --lines /etc/passwd",
		"df --sync", "hostname -F x", "hostname -Fx", "hostname name", "hostname -b", "whoami x", "pwd x", "uname -S x", "uname x",

		// Commands that run others, and environments.
		"env", "env ls", "printenv", "xargs cat", "sudo ls", "timeout 5 ls", "nice ls", "command ls", "command -p ls", "command", "exec ls", "sh -c ls", "bash -c ls", "eval ls", "time ls",
		"less a", "more a", "man ls", "awk 1 a", "tee a", "tar tf a", "ps aux", "perl -v", "npm ls", "npm list", "npm view x", "npm --version", "cargo --version", "cargo tree", "gh pr list", "kubectl get pods",

		// find.
		"find . -delete", "find . -name x -delete", "find -delete", "find -- -delete", "find . -exec rm {} ;", "find . -exec rm {} +", "find . -execdir rm {} ;", "find . -ok rm {} ;",
		"find . -okdir rm {} ;", "find . -fprint x", "find . -fprint0 x", "find . -fprintf x %p", "find . -fls x", "find . ( -name x -delete )", "find . -files0-from x", "find ---print",
		"find . -name=x", "find . --delete", "find -D exec .", "find -O3 .", "find -f x",
		"fd -x rm", "fd -xrm", "fd -Hx rm", "fd pat -x rm", "fd -X rm", "fd --exec rm", "fd --exec=rm", "fd --exec-batch rm", "fd --exe rm", "fd -l pat", "fd --list-details", "fd -HIl pat",
		"fd --base-directory / x", "fd -C / x", "fd --search-path / x",
		"tree -o x", "tree -ox", "tree -ao x", "tree src -o x", "tree -R", "tree -LR 2", "tree -aR", "tree -L2", "tree -Lo 2 x", "tree -LIo 2 a x", "tree --output x", "tree --fromfile x", "tree -H x", "tree -- -o x", "tree ---a",

		// Searching.
		"rg --pre x pat", "rg --pre=x pat", "rg pat src --pre x", "rg --pre-glob * pat", "rg --hostname-bin x pat", "rg --hostname-bin=x pat", "rg -z pat", "rg -nz pat", "rg --search-zip pat", "rg --search pat",
		"rg --hyperlink-format={host} pat", "rg --generate man", "rg -e --pre=x pat", "rg -A --pre=x pat",
		"grep --nosuch a b", "grep --fil=x b", "grep --recursiv a", "grep -r -O a", "grep -S a b", "grep -e -x b", "egrep --nosuch a",
		"strings @x", "strings -n @x a", "strings -a a @x", "strings --target=x a", "file -C -m x", "file -Cm x", "file -bC", "file --compile", "file -m x a", "file -f x", "file -fx", "file --files-from x", "file -z x", "file -p x", "file -S x", "file -bz x",

		// Text.
		"sed p a", "sed -i s/a/b/ a", "sed -n -i p a", "sed -ni 1p a", "sed -n 1p a -i", "sed -n 1p a -i.bak", "sed -n 1p a --in-place", "sed -n w␣x a", "sed -n 1,5w␣x a", "sed -n /a/w␣x a", "sed -n 1e a", "sed -n 1,20p;w␣x a",
		"sed -n s/a/b/w␣x a", "sed -n s/a/b/e a", "sed -n s/a/b/p a", "sed -n -f x a", "sed -n -e 1p a", "sed -n", "sed -n --expression=1p a", "sed -n /a\\/p;w␣x/p a", "sed -n /[/p a", "sed -n 1p␣x a", "sed -s 1p a", "sed -n 1p␤w␣x a",
		"jq -f x a", "jq --from-file x a", "jq -L x . a", "jq -rf x a", "jq env a", "jq env.PATH a", "jq $ENV a", "jq $␣ENV a", "jq .a|env a", "jq {a:env} a", "jq . -n --run-tests x", "jq --run-tests x", "jq import␣\"x\"␣as␣y;. a", "jq include␣\"x\";. a",
		"jq -n \"x\"|modulemeta", "jq -n [$ENV]", "jq --args . a", "jq --raw . a", "jq \"\\(env)\" a", "jq .␣env a",
		"sort -o x a", "sort -ox a", "sort -uo x a", "sort -uox a", "sort a -o x", "sort a -ox", "sort --output=x a", "sort --output x a", "sort --outp=x a", "sort --o x a", "sort a --output=x", "sort --compress-program=x a", "sort --compress-program x a", "sort --compress-prog=x a",
		"sort -T x a", "sort -Tx a", "sort --temporary-directory=x a", "sort --files0-from=x", "sort -k -o x", "sort -k --output=x a", "sort -t -ox a", "sort +1 -2", "sort -nro x a",
		"uniq a b", "uniq -c a b", "uniq a -c", "uniq - b", "uniq -- a b", "uniq a -- b", "uniq -f 1 a b", "uniq a --count", "uniq --nosuch a",
		"xxd a b", "xxd -r a b", "xxd -r a", "xxd -ps a b", "xxd -ac a", "xxd -ab 5 a", "xxd a -l 5", "xxd -l16 a", "xxd -l 16 a b", "xxd - b", "xxd -revert a", "xxd ---a x",
		"base64 -o x a", "base64 -i a", "base64 a -o x", "base64 -do x", "base64 --output=x a", "base64 a b", "split a", "shuf -o x a",
		"diff -l a b", "diff -ul a b", "diff --paginate a b", "diff --pag a b", "diff a b -l", "cut a -d x", "md5sum -c x", "sha256sum --check x", "sha1sum -bc x", "cksum -c x", "hexdump --nosuch a", "tr --nosuch a",

		// Shells.
		"printf -v x y", "printf -- x", "printf %n x", "printf a%5n x", "printf %s%n a x", "printf %d x", "printf %d a[$(x)]", "printf %d x=1", "printf %*d 5 x", "printf %1$s x",
		"test -v x", "test -v a[$(x)]", "[ -v a[$(x)] ]", "[ -R x ]", "[ a[$(x)] -eq 1 ]", "[ 1 -eq x=1 ]", "[ -f a", "[", "[ ]", "[ -f a -o -f b ]", "test -f a -a -f b", "test -t x=1", "[ a -zz b ]", "[ -x a ] b",
		"date 0101", "date 010112002026", "date -s x", "date -sx", "date -us x", "date --set=x", "date --set x", "date --se=x", "date +%s 0101", "date -u 0101", "date -d x", "date -d 1", "date -f x", "date --file=x", "date +%s -s x", "date --date x +%s 0101", "date -r a 0101", "date -I 0101", "date -n 0101", "date -j 0101", "date -- 0101", "date ''",

		// Tools.
		"go env -w GOFLAGS=x", "go env -u GOFLAGS", "go env -json -w x=y", "go env --json", "go build", "go run .", "go list ./...", "go test ./...", "go version -x", "go doc fmt", "go -C x version",
		"node", "node x.js", "node -e x", "node --version x", "node -p 1", "python --version x", "python -c x", "python3 -m http.server", "python -Vc x", "pip install x", "pip list -o", "pip list --outdated", "pip list --index-url=x", "pip --python x list", "pip download x",
		"docker run x", "docker exec x ls", "docker ps x", "docker -H x ps", "docker --config x ps", "docker build .", "docker container ls",

		// git: other repositories, configuration, programs.
		"git -c core.pager=x log", "git -ccore.pager=x log", "git -c alias.x=!y x", "git -C x log", "git -Cx log", "git --git-dir=x log", "git --git-dir x log", "git --work-tree=x status", "git --exec-path=x status", "git --exec-path=x", "git --config-env=a=b log",
		"git -p log", "git --paginate log", "git --namespace=x log", "git --bare log", "git --no-pager -c x=y log", "git --no-pager", "git --no-pager --git-dir=x log", "git --help log", "git help log", "git log --help", "git status --help",
		"git log --output=x", "git log --output x", "git log --outp=x", "git log --out x", "git log -p --output=x", "git log main --output=x", "git log --grep --output=x", "git log -S --output=x", "git log -n --output=x", "git log --author -- --output=x", "git diff --output=x", "git diff --output x", "git diff a --output=x",
		"git show --output=x", "git show HEAD --output=x", "git stash show --output=x", "git stash list --output=x", "git reflog show --output=x", "git reflog --output=x", "git rev-list --output=x HEAD", "git shortlog --output=x", "git shortlog -n --output=x",
		"git log --ext-diff", "git diff --ext-diff", "git show --ext", "git log --textconv", "git diff --textconv", "git show --textconv", "git blame --textconv a", "git grep --textconv x", "git cat-file --textconv HEAD:a", "git cat-file --filters HEAD:a", "git cat-file --filt HEAD:a", "git cat-file --batch",
		"git diff -Ox", "git diff -O x", "git log -O x", "git grep -O x", "git grep -Oless x", "git grep -nO x", "git grep -nOless x", "git grep x -O", "git grep --open-files-in-pager x", "git grep --open-files-in-pager=x y", "git grep --open x", "git grep --ext-grep x", "git grep -e -Ox",
		"git log --show-signature", "git log --format=%G?", "git log --pretty=%h%GK", "git log --format=%+G?", "git for-each-ref --format=%(signature)", "git tag --format=%(*signature:key)", "git branch --format %(signature)", "git log --remerge-diff", "git diff --submodule=diff",

		// git: subcommands and operands that write.
		"git add a", "git commit", "git push", "git fetch", "git pull", "git checkout x", "git clean -fd", "git gc", "git ls-remote", "git remote show origin", "git remote update", "git remote -v update", "git remote add x y", "git difftool", "git archive HEAD", "git format-patch HEAD",
		"git branch x", "git branch -v x", "git branch -a x", "git branch -d x", "git branch -D x", "git branch -m x", "git branch -M x y", "git branch -c x", "git branch -f x y", "git branch -u x", "git branch --set-upstream-to=x", "git branch --edit-description", "git branch --list -d x", "git branch --list -D x", "git branch --list x -m",
		"git branch --delete x", "git branch --dele x", "git branch -rd x", "git branch -l x", "git branch -- x", "git branch --color x", "git tag x", "git tag -a x", "git tag -d x", "git tag -l -d x", "git tag --list -f x", "git tag -n 5", "git tag -s x", "git tag -v x", "git tag --delete x", "git tag -- x",
		"git stash", "git stash pop", "git stash drop", "git stash push", "git stash list x", "git reflog expire --all", "git reflog delete x", "git reflog x", "git worktree add x", "git worktree", "git worktree list x", "git submodule update", "git submodule foreach x", "git submodule",
		"git config user.name", "git config user.name x", "git config --get x --unset y", "git config --get --add x y", "git config --list x", "git config --edit", "git config -e", "git config --get -f x y", "git config --get --file=x y", "git config --unset x", "git config --global x y",
		"git symbolic-ref HEAD refs/heads/x", "git symbolic-ref -d HEAD", "git symbolic-ref -m x HEAD", "git symbolic-ref HEAD -d", "git show-ref --exclude-existing", "git ls-files --refresh", "git name-rev --stdin", "git describe --broken", "git rev-parse --parseopt", "git count-objects x", "git notes", "git update-index",
	} {
		t.Run(command, func(t *testing.T) {
			operands, ok := readsOnly(argv(command))
			if ok || operands != nil {
				t.Errorf("%q, %v", operands, ok)
			}
		})
	}
}

// A mistake in the table is a word that says nothing or an option that cannot be found.
func TestReaders(t *testing.T) {
	kinds := []string{"files", "words", "none", "one", "pattern", "text"}
	for name, entry := range readers {
		u := newUsage(name)
		if strings.Count(entry, ";") > 2 || len(u.operands) == 0 || !slices.Contains(kinds, u.operands[0]) {
			t.Errorf("%s: %q", name, entry)
		}
		for _, kind := range u.operands[1:] {
			if kind != "." && kind != "any" {
				t.Errorf("%s: operands %q", name, kind)
			}
		}
		seen := map[string]bool{}
		for _, long := range u.long {
			option := strings.TrimRight(long, marks)
			if seen[option] {
				t.Errorf("%s: %s twice", name, option)
			}
			seen[option] = true
			_, _, _, ok := u.option("--" + strings.TrimPrefix(option, "-"))
			if ok == strings.HasPrefix(option, "-") {
				t.Errorf("%s: --%s: %v", name, option, ok)
			}
			short := option[:len(option)-1]
			if !strings.HasPrefix(option, "-") && !slices.ContainsFunc(u.long, func(l string) bool { return strings.TrimRight(l, marks) == short }) {
				_, _, _, ok = u.option("--" + short)
				if ok {
					t.Errorf("%s: --%s abbreviates --%s", name, short, option)
				}
			}
		}
		for i, letter := range u.short {
			if !strings.ContainsRune(marks, letter) && strings.ContainsRune(u.short[i+1:], letter) {
				t.Errorf("%s: -%c twice", name, letter)
			}
		}
	}
}
