package argument

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// readers are the commands of the preset "read", with the options that keep them reading. What is not
// in the table is not in the preset: no option, no abbreviation of an option, no subcommand.
//
// An entry is named by its first words and has three parts, "operands; short options; long options".
//
// Operands:
//
//	files    name files
//	words    name no files
//	none     there are none
//	one      at most one, and no option follows it: a second one would be an output file, or sets something
//	pattern  the first is a pattern, the others name files
//	text     every word is an operand, none is an option
//	.        without a file, the working directory is read
//	any      every known version reads options after operands as options
//
// Options are letters and names without their dashes. Names with one dash are those of programs that
// compare whole words; for these a word is no cluster of letters. A mark follows an option that is more
// than a flag:
//
//	:  takes a value, attached or as the next word
//	?  takes a value that is attached, or none
//	~  takes the next word, whatever it looks like
//	*  takes the next two words
//	@  as ":", and the value (with "*" the second) names a file
//	!  stands for the pattern, so that the first operand is a file
//	.  without a file, the working directory is read
//	#  (alone) -NUMBER is an option
//
// Sources, November 2026: manuals and --help of GNU coreutils 9.1, findutils 4.9, grep 3.8, diffutils 3.8,
// sed 4.9, binutils 2.40, util-linux 2.38, file 5.44, xxd of 2022, jq 1.6, git 2.39, Go 1.26, pip 23 and
// docker 28; the completions of ripgrep and fd, and the synopsis of tree 2.0. An option that reads there and
// writes in FreeBSD, macOS or busybox is absent (date -d, base64 -i), and so is one that takes a value in
// one of them only, where that would hide another word.
//
// Absent although they read, since they also do more: files that name further files (--files0-from,
// file -f, md5sum -c), decompressors and preprocessors (rg -z, rg --pre, file -z), programs that run
// others (fd -l runs ls, diff -l runs pr, go list and cargo may download, npm runs what a project's
// .npmrc names in old versions, cargo --version runs the toolchain that a project names), and the
// environment, which holds keys (env, printenv, $ENV in jq). go version and go env start the toolchain that
// go.mod asks for, which the go command fetches and verifies.
//
// git runs what its configuration names, also unasked: textconv and diff drivers, fsmonitor. The
// configuration of a repository is not part of a clone, so it is the user's own; options that select
// another repository or configuration (-C, -c, --git-dir) are absent, and so are --ext-diff, --textconv
// and formats that verify signatures. A folder of a clone may look like a repository, with a
// configuration: after a change of directory git is not certain to read only. git may read all of the
// repository, whichever operands it has; "." stands for it. git status, diff and describe may refresh the
// index.
var readers = map[string]string{ //nolint:gosec // no credentials: names of options
	// Files.
	"ls":       "files .; 1AaBbCcdFfGgHhiklLmNnoPpQqRrSstTUuvXxZ; all almost-all author block-size: classify? color? dereference directory escape file-type format: full-time group-directories-first hide: human-readable hyperlink? ignore: ignore-backups indicator-style: inode kibibytes literal no-group numeric-uid-gid quote-name quoting-style: recursive reverse show-control-chars si size sort: time: time-style: width: zero",
	"cat":      "files; AbeEnstTuv; number number-nonblank show-all show-ends show-nonprinting show-tabs squeeze-blank",
	"tac":      "files; brs:; before regex separator:",
	"nl":       "files; pb:d:f:h:i:l:n:s:v:w:; body-numbering: number-format: number-separator: number-width: starting-line-number:",
	"head":     "files; #n:c:qvz; bytes: lines: quiet silent verbose zero-terminated",
	"tail":     "files; #n:c:fFqrvz; bytes: follow? lines: quiet retry silent verbose zero-terminated",
	"wc":       "files; clmLw; bytes chars lines max-line-length words",
	"stat":     "files; c:fFlLnqrstx; cached: dereference file-system format: printf: terse",
	"file":     "files; 0bF:hiIkLnNr; brief dereference extension keep-going mime mime-encoding mime-type no-dereference no-pad print0 raw separator:",
	"du":       "files .; 0abB:cd:DhHklLmPsSt:xX@; all apparent-size block-size: bytes count-links dereference dereference-args exclude-from@ exclude: human-readable inodes max-depth: no-dereference null one-file-system separate-dirs si summarize threshold: time-style: time? total",
	"df":       "files; aB:hHiklPt:Tx:; all block-size: exclude-type: human-readable inodes local no-sync output? portability print-type si total type:",
	"tree":     "files . any;; -a -A -c -C -d -D -f -F -g -h -i -I~ -J -l -L~ -n -N -p -P~ -q -Q -r -s -S -t -u -U -v -x -X device dirsfirst du filelimit~ filesfirst gitignore ignore-case inodes matchdirs nolinks noreport prune si sort?",
	"find":     "files . any;; -H -L -P -E -s -x -a -amin~ -and -anewer~@ -atime~ -cmin~ -cnewer~@ -ctime~ -d -daystart -depth -empty -executable -false -follow -fstype~ -gid~ -group~ -ilname~ -iname~ -inum~ -ipath~ -iregex~ -iwholename~ -links~ -lname~ -ls -maxdepth~ -mindepth~ -mmin~ -mount -mtime~ -name~ -newer~@ -newermt~ -nogroup -noleaf -not -nouser -nowarn -o -or -path~ -perm~ -print -print0 -printf~ -prune -quit -readable -regex~ -regextype~ -samefile~@ -size~ -true -type~ -uid~ -user~ -warn -wholename~ -writable -xdev -xtype~",
	"fd":       "pattern . any; 01ac:d:e:E:FgHiIj:Lo:pqsS:t:u; absolute-path and: case-sensitive changed-after: changed-before: changed-within: color: exact-depth: exclude: extension: fixed-strings follow format: full-path glob hidden ignore-case ignore-file@ max-depth: max-results: min-depth: newer: no-global-ignore-file no-ignore no-ignore-parent no-ignore-vcs no-require-git older: one-file-system owner: path-separator: print0 prune quiet regex show-errors size: strip-cwd-prefix? threads: type: unrestricted",
	"realpath": "files; emLPqsz; canonicalize-existing canonicalize-missing logical no-symlinks physical quiet relative-base@ relative-to@ strip zero",
	"readlink": "files; efmnqsvz; canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero",
	"basename": "words; as:z; multiple suffix: zero",
	"dirname":  "words; z; zero",

	// Text.
	"grep":     "pattern any; #aA:bB:cC:e:!EFf@!GhHiIlLm:noPqr.R.sTUvwxzZ; after-context: basic-regexp before-context: binary binary-files: byte-offset color? colour? context? count dereference-recursive. exclude-dir: exclude-from@ exclude: extended-regexp file@! files-with-matches files-without-match fixed-strings group-separator: ignore-case include: initial-tab invert-match label: line-buffered line-number line-regexp max-count: no-filename no-group-separator no-ignore-case no-messages null null-data only-matching perl-regexp quiet recursive. regexp:! silent text with-filename word-regexp",
	"rg":       "pattern . any; 0aA:bB:cC:d:e:!E:f@!Fg:HiIj:lLm:M:nNopPqr:sSt:T:uUvwx; after-context: before-context: binary block-buffered byte-offset case-sensitive color: colors: column context-separator: context: count count-matches crlf debug encoding: engine: field-context-separator: field-match-separator: file@! files! files-with-matches files-without-match fixed-strings follow glob-case-insensitive glob: heading hidden iglob: ignore-case ignore-file-case-insensitive ignore-file@ include-zero invert-match json line-buffered line-number line-regexp max-columns-preview max-columns: max-count: max-depth: max-filesize: mmap multiline multiline-dotall no-column no-config no-context-separator no-filename no-heading no-hidden no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global no-ignore-messages no-ignore-parent no-ignore-vcs no-line-number no-messages no-mmap no-pre no-require-git no-search-zip no-unicode null null-data one-file-system only-matching passthrough passthru path-separator: pcre2 pretty quiet regexp:! replace: smart-case sort-files sort: sortr: stats stop-on-nonmatch text threads: trim type-add: type-clear: type-list! type-not: type: unrestricted vimgrep with-filename word-regexp",
	"sed -n":   "pattern",
	"jq":       "pattern any; acCejMnrRsS; arg* argjson* ascii-output color-output compact-output exit-status indent~ join-output monochrome-output null-input raw-input raw-output raw-output0 rawfile*@ seq slurp slurpfile*@ sort-keys stream stream-errors tab unbuffered",
	"sort":     "files any; bcCdfghik:mMnrRsS:t:uVz; buffer-size: check? debug dictionary-order field-separator: general-numeric-sort human-numeric-sort ignore-case ignore-leading-blanks ignore-nonprinting key: merge month-sort numeric-sort random-sort random-source@ reverse sort: stable unique version-sort zero-terminated",
	"uniq":     "one; cdDf:is:uw:z; all-repeated? check-chars: count group? ignore-case repeated skip-chars: skip-fields: unique zero-terminated",
	"cut":      "files; b:c:d:f:nsz; bytes: characters: complement delimiter: fields: only-delimited output-delimiter: zero-terminated",
	"tr":       "words; cCdst; complement delete squeeze-repeats truncate-set1",
	"rev":      "files",
	"column":   "files; c:s:tx; fillrows output-width: separator: table",
	"comm":     "files; 123z; check-order nocheck-order output-delimiter: total zero-terminated",
	"join":     "files; a:e:ij:o:t:v:1:2:z; check-order header ignore-case nocheck-order zero-terminated",
	"paste":    "files; d:sz; delimiters: serial zero-terminated",
	"fold":     "files; bsw:; bytes spaces width:",
	"expand":   "files; it:; initial tabs:",
	"unexpand": "files; at:; all first-only tabs:",
	"diff":     "files any; abBcC:dEeF:iI:L:nNpqrsS:tTuU:wW:x:X@yZ; brief color? context? ed exclude-from@ exclude: expand-tabs from-file@ ignore-all-space ignore-blank-lines ignore-case ignore-file-name-case ignore-matching-lines: ignore-space-change ignore-tab-expansion ignore-trailing-space label: left-column minimal new-file no-dereference normal rcs recursive report-identical-files show-c-function show-function-line: side-by-side starting-file: strip-trailing-cr suppress-blank-empty suppress-common-lines tabsize: text to-file@ unidirectional-new-file unified? width:",
	"cmp":      "files; bi:ln:s; bytes: ignore-initial: print-bytes quiet silent verbose",
	"md5sum":   "files; btz; binary tag text zero",
	"shasum":   "files; a:bt; algorithm: binary text",
	"cksum":    "files; a:l:z; algorithm: base64 length: raw tag untagged zero",
	"base64":   "one; dDw:; decode ignore-garbage wrap:",
	"xxd":      "one;; -a -b -c~ -C -d -e -E -g~ -i -l~ -p -ps -s~ -u",
	"od":       "files; aA:bcdfij:lN:ost:vw?x; address-radix: endian: format: output-duplicates read-bytes: skip-bytes: width?",
	"hexdump":  "files; bcCde:f@n:os:vx; canonical format-file@ format: length: no-squeezing skip:",
	"strings":  "files; #ae:fn:ot:; all bytes: encoding: print-file-name radix:",

	// The shell and the machine.
	"echo":             "text",
	"printf":           "text",
	"true":             "text",
	"false":            "text",
	"test":             "text",
	"[":                "text",
	"pwd":              "none; LP; logical physical",
	"type":             "words; afpPt",
	"which":            "words; as",
	"command -v":       "words",
	"command -V":       "words",
	"seq":              "words; #f:s:w; equal-width format: separator:",
	"date":             "one; I?r@Ruv:; date? debug iso-8601? reference@ resolution rfc-3339? rfc-email universal utc",
	"uname":            "none; aimnoprsv; all hardware-platform kernel-name kernel-release kernel-version machine nodename operating-system processor",
	"whoami":           "none",
	"hostname":         "none",
	"id":               "words; agGnruz; context group groups name real user zero",
	"nproc":            "none;; all ignore:",
	"go version":       "files;; -m -v",
	"go env":           "words;; -changed -json",
	"node --version":   "none",
	"node -v":          "none",
	"python --version": "none",
	"python -V":        "none",
	"pip --version":    "none",
	"pip freeze":       "none; l; all exclude-editable exclude: local user",
	"pip list":         "none; el; editable exclude-editable exclude: format: local not-required user",
	"pip show":         "words; f; files",
	"docker ps":        "none; af:ln:qs; all filter: format: last: latest no-trunc quiet size",
	"docker images":    "words; af:q; all digests filter: format: no-trunc quiet",

	// git. Every entry has "any".
	"git --version":        "none",
	"git version":          "none",
	"git status":           "files; bM?su?vz; ahead-behind branch column? find-renames? ignore-submodules? ignored? long no-ahead-behind no-column no-renames null porcelain? short show-stash untracked-files? verbose",
	"git diff":             "files; " + diffLetters + "; cached merge-base no-index staged " + diffNames,
	"git log":              "files; " + diffLetters + revLetters + "; " + diffNames + revNames,
	"git show":             "files; " + diffLetters + revLetters + "; " + diffNames + revNames,
	"git stash list":       "none; " + diffLetters + revLetters + "; " + diffNames + revNames,
	"git stash show":       "files; " + diffLetters + "; include-untracked only-untracked " + diffNames,
	"git reflog":           "none; " + revLetters + "; " + revNames,
	"git reflog show":      "files; " + diffLetters + revLetters + "; " + diffNames + revNames,
	"git rev-list":         "files; " + revLetters + "; count disk-usage objects " + revNames,
	"git shortlog":         "files; #ceEFinPs; email group: numbered summary " + revNames,
	"git blame":            "files; bcC?efL:lM?npsS@tw; abbrev? color-by-age color-lines contents@ date: first-parent ignore-rev: ignore-revs-file@ incremental line-porcelain minimal porcelain root show-email show-name show-number since:",
	"git grep":             "pattern; #aA:bB:cC:e:!EFf@!GhHiIlLm:noPpqrvwWz; after-context: all-match and basic-regexp before-context: break cached color? column context: count exclude-standard extended-regexp files-with-matches files-without-match fixed-strings full-name function-context heading ignore-case invert-match line-number max-count: max-depth: name-only no-color no-index not null only-matching or perl-regexp quiet show-function text threads: untracked word-regexp",
	"git rev-parse":        "files; q; abbrev-ref? absolute-git-dir all branches? git-common-dir git-dir is-bare-repository is-inside-git-dir is-inside-work-tree is-shallow-repository quiet remotes? short? show-cdup show-prefix show-superproject-working-tree show-toplevel symbolic symbolic-full-name tags? verify",
	"git ls-files":         "files; cdikmostuvx:X@z; abbrev? cached deduplicate deleted directory eol error-unmatch exclude-from@ exclude-standard exclude: format: full-name ignored killed modified others stage unmerged with-tree:",
	"git ls-tree":          "files; dlrtz; abbrev? format: full-name full-tree long name-only name-status object-only",
	"git cat-file":         "files; epst; allow-unknown-type mailmap use-mailmap",
	"git check-ignore":     "files; nqvz; no-index non-matching quiet verbose",
	"git describe":         "files;; abbrev? all always candidates: contains dirty? exact-match exclude: first-parent long match: tags",
	"git merge-base":       "files; a; all fork-point independent is-ancestor octopus",
	"git name-rev":         "files;; all always exclude: name-only refs: tags undefined",
	"git show-ref":         "words; dqs?; abbrev? branches dereference hash? head heads quiet tags verify",
	"git symbolic-ref":     "one; q; quiet short",
	"git for-each-ref":     "words;; count: " + refNames,
	"git count-objects":    "none; Hv; human-readable verbose",
	"git branch":           "none; airv; abbrev? all column? no-column remotes show-current verbose " + refNames,
	"git branch --list":    "words; airv; abbrev? all column? no-column remotes verbose " + refNames,
	"git tag":              "none; in?; column? no-column " + refNames,
	"git tag -l":           "words; in?; column? no-column " + refNames,
	"git tag --list":       "words; in?; column? no-column " + refNames,
	"git remote":           "none; v; verbose",
	"git remote get-url":   "words;; all push",
	"git worktree list":    "none; vz; porcelain verbose",
	"git submodule status": "files;; cached recursive",
	"git config --get":     "words; z; " + configNames,
	"git config --get-all": "words; z; " + configNames,
	"git config --list":    "none; z; " + configNames,
	"git config -l":        "none; z; " + configNames,
}

// The options that several git commands have. -O reads an order file for some and runs a pager for
// others, and --output writes a file: both are absent.
const (
	diffLetters = "abB?cC?G:mM?pRsS:uU?wWz"
	diffNames   = "abbrev? anchored: binary cc check color-moved? color-words? color? combined-all-paths compact-summary diff-algorithm: diff-filter: dirstat? dst-prefix: exit-code find-copies-harder find-copies? find-renames? full-index function-context histogram ignore-all-space ignore-blank-lines ignore-cr-at-eol ignore-matching-lines: ignore-space-at-eol ignore-space-change ignore-submodules? indent-heuristic inter-hunk-context: minimal name-only name-status no-color no-ext-diff no-patch no-prefix no-relative no-renames no-textconv numstat patch patch-with-stat patience pickaxe-all pickaxe-regex quiet raw relative? shortstat src-prefix: stat? summary text unified? word-diff-regex: word-diff? "
	revLetters  = "#EFgiL:n:P"
	revNames    = "abbrev-commit after: all all-match ancestry-path? author-date-order author: before: boundary branches? cherry-mark cherry-pick children clear-decorations committer: date-order date: decorate-refs-exclude: decorate-refs: decorate? extended-regexp first-parent fixed-strings follow format? full-history graph grep: invert-grep left-only left-right mailmap max-count: merges no-abbrev-commit no-decorate no-mailmap no-merges no-notes not oneline parents perl-regexp pretty? regexp-ignore-case relative-date remotes? reverse right-only show-pulls simplify-by-decoration since-as-filter: since: skip: source tags? topo-order until: use-mailmap walk-reflogs"
	refNames    = "color? contains: format: ignore-case merged: no-color no-contains: no-merged: points-at: sort:"
	configNames = "bool default: global includes int local name-only null path show-origin show-scope system type: worktree"
)

// sameAs are programs with the options of another one.
var sameAs = map[string]string{
	"egrep": "grep", "fgrep": "grep", "fdfind": "fd", "pip3": "pip", "python3": "python",
	"sha1sum": "md5sum", "sha224sum": "md5sum", "sha256sum": "md5sum", "sha384sum": "md5sum", "sha512sum": "md5sum", "b2sum": "md5sum",
}

// Words that decide whether a command only reads.
var (
	// sedPrint is a sed script that prints lines. Without a bracket or a backslash a regular expression
	// ends at the next slash in every version.
	sedPrint = regexp.MustCompile(`^(\d+|\$|/[^/\\\[\n]+/)(,(\d+|\$|/[^/\\\[\n]+/))?p$`)
	// jqOutside are the words of a jq filter that reach the environment or further files; a field may
	// have their name.
	jqOutside = regexp.MustCompile(`(^|[^.\w])(env|ENV|import|include|modulemeta)\b`)
	// printfText is a format that takes its arguments as text. Others store into variables, or evaluate
	// an argument as arithmetic, which may run a command.
	printfText = regexp.MustCompile(`^([^%]|%%|%-?\d*(\.\d+)?[bcqs])*$`)
	// gitSigned is a placeholder for which git runs gpg.
	gitSigned = regexp.MustCompile(`%[-+ ]?(G|\(\*?signature)`)
	// number is a value that no version takes for an option or a file outside the working directory.
	number  = regexp.MustCompile(`^(-\d+|\+?\d[\d.,:a-zA-Z]*)$`)
	digits  = regexp.MustCompile(`^-\d+$`)
	decimal = regexp.MustCompile(`^-?\d+(\.\d+)?$`)
)

// readsOnly reports whether a simple command only reads files and the state of the machine: its
// program, subcommand and every option are in the table. The words are literal, and none is a wrapper of
// another command. operands are the words that may name files, including values of options that do, and
// "." where the working directory is read without being named; revisions of git are among them.
func readsOnly(words []string) (operands []string, ok bool) {
	for len(words) > 1 && words[0] == "git" && (words[1] == "--no-pager" || words[1] == "--no-optional-locks") {
		words = append([]string{"git"}, words[2:]...)
	}
	name, args, ok := reader(words)
	if !ok {
		return nil, false
	}
	if len(words) == 2 && (words[1] == "--help" || words[1] == "--version") {
		return nil, true
	}
	if name == "test" || name == "[" {
		return testReads(name, args)
	}
	u := usages()[name]
	c, ok := u.parse(args)
	if !ok || !plain(name, args, c.operands) {
		return nil, false
	}
	switch {
	case u.is("none") && len(c.operands) > 0, u.is("one") && len(c.operands) > 1:
		return nil, false
	case name == "date", u.is("words"), u.is("text"):
		c.operands = nil
	case name == "find":
		c.operands = slices.DeleteFunc(c.operands, func(w string) bool { return slices.Contains([]string{"(", ")", "!", ","}, w) })
	case u.is("pattern") && !c.pattern && len(c.operands) > 0:
		c.operands = c.operands[1:]
	}
	git := strings.HasPrefix(name, "git ")
	if git || len(c.operands) == 0 && (u.is(".") || c.here) {
		c.files = append(c.files, ".")
	}
	return append(c.files, slices.DeleteFunc(c.operands, func(w string) bool { return w == "-" })...), true
}

// severalWords are the programs with entries of more than one word.
var severalWords = sync.OnceValue(func() map[string]bool {
	m := make(map[string]bool)
	for name := range readers {
		first, _, more := strings.Cut(name, " ")
		m[first] = m[first] || more
	}
	return m
})

// reader returns the name of the entry for a command, of its first one, two or three words, and the
// words after it.
func reader(words []string) (name string, args []string, ok bool) {
	if len(words) == 0 {
		return "", nil, false
	}
	first := cmp.Or(sameAs[words[0]], words[0])
	n := 1
	if severalWords()[first] {
		n = min(3, len(words))
	}
	for ; n > 0; n-- {
		name = strings.Join(append([]string{first}, words[1:n]...), " ")
		_, ok = readers[name]
		if ok && len(strings.Fields(name)) == n {
			return name, words[n:], true
		}
	}
	return "", nil, false
}

// plain reports whether the words of a command say no more than that it reads, which the options of some
// do not decide.
func plain(name string, args, operands []string) bool {
	first := ""
	if len(operands) > 0 {
		first = operands[0]
	}
	switch name {
	case "date":
		return len(operands) == 0 || strings.HasPrefix(first, "+")
	case "sed -n":
		return sedPrint.MatchString(first)
	case "jq":
		return !jqOutside.MatchString(first)
	case "printf":
		text := printfText.MatchString(first) || !slices.ContainsFunc(args[min(1, len(args)):], func(w string) bool { return !decimal.MatchString(w) })
		return text && !strings.HasPrefix(first, "-")
	case "strings":
		return !slices.ContainsFunc(args, func(w string) bool { return strings.HasPrefix(w, "@") }) // a file of arguments
	}
	return !strings.HasPrefix(name, "git ") || !slices.ContainsFunc(args, gitSigned.MatchString)
}

// testReads reads an expression of test with one operator. Other operators evaluate a subscript or an
// arithmetic expression in some shells, which may run a command, and longer ones are ambiguous.
func testReads(name string, args []string) (operands []string, ok bool) {
	if name == "[" {
		if len(args) == 0 || args[len(args)-1] != "]" {
			return nil, false
		}
		args = args[:len(args)-1]
	}
	if len(args) > 1 && args[0] == "!" {
		args = args[1:]
	}
	switch len(args) {
	case 2:
		switch args[0] {
		case "-n", "-z":
			return nil, true
		case "-b", "-c", "-d", "-e", "-f", "-g", "-G", "-h", "-k", "-L", "-N", "-O", "-p", "-r", "-s", "-S", "-u", "-w", "-x":
			return args[1:], true
		}
	case 3:
		switch args[1] {
		case "=", "==", "!=":
			return nil, true
		case "-nt", "-ot", "-ef":
			return []string{args[0], args[2]}, true
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			return nil, decimal.MatchString(args[0]) && decimal.MatchString(args[2])
		}
	}
	return nil, false
}

// usage is an entry of the table.
type usage struct {
	operands []string
	short    string
	long     []string
}

// marks are the characters that follow an option in the table.
const marks = ":?~*@!."

// usages returns the entries of the table.
var usages = sync.OnceValue(func() map[string]*usage {
	all := make(map[string]*usage, len(readers))
	for name := range readers {
		all[name] = newUsage(name)
	}
	return all
})

func newUsage(name string) *usage {
	parts := append(strings.Split(readers[name], ";"), "", "")
	u := &usage{operands: strings.Fields(parts[0]), short: strings.TrimSpace(parts[1]), long: strings.Fields(parts[2])}
	if strings.HasPrefix(name, "git ") {
		u.operands = append(u.operands, "any")
	}
	return u
}

// is reports whether the entry says so of its operands.
func (u *usage) is(kind string) bool { return slices.Contains(u.operands, kind) }

// call is the words of a command by what they are.
type call struct {
	operands []string
	files    []string // values of options
	pattern  bool     // an option stands for the pattern
	here     bool     // an option reads the working directory
}

// parse sorts the words after the name of the entry; false if one is not in the table.
func (u *usage) parse(args []string) (c call, ok bool) {
	compared := len(u.long) > 0 && u.long[0][0] == '-' // as whole words
	ended := u.is("text")
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case ended, word == "-", !strings.HasPrefix(word, "-"):
			c.operands = append(c.operands, word)
			continue
		case u.is("one") && len(c.operands) > 0:
			return c, false
		case word == "--" && !compared:
			ended = true
			continue
		case strings.Contains(u.short, "#") && digits.MatchString(word):
			continue
		}
		has, value, attached, ok := u.option(word)
		if !ok {
			return c, false
		}
		c.pattern = c.pattern || strings.Contains(has, "!")
		c.here = c.here || strings.Contains(has, ".")
		next := 0
		switch {
		case attached:
		case strings.Contains(has, "*"):
			next = 2
		case strings.ContainsAny(has, ":~@"):
			next = 1
		}
		for range min(next, len(args)-1-i) {
			i++
			value = args[i]
			if !strings.Contains(has, "~") && !number.MatchString(value) && (len(value) > 1 && value[0] == '-' || len(c.operands) > 0 && !u.is("any")) {
				return c, false
			}
		}
		if strings.Contains(has, "@") {
			c.files = append(c.files, value)
		}
	}
	return c, true
}

// option returns the marks of an option, or of a cluster of letters, and the value that is attached to it.
func (u *usage) option(word string) (has, value string, attached, ok bool) {
	name, value, attached := strings.Cut(word, "=")
	if strings.HasPrefix(name, "--") && !strings.HasPrefix(name, "---") {
		name = name[2:]
	}
	for _, long := range u.long {
		if strings.HasPrefix(long, name) && strings.TrimRight(long, marks) == name {
			has = long[len(name):]
			return has, value, attached, !attached || strings.ContainsAny(has, ":?@") && !strings.ContainsAny(has, "~*")
		}
	}
	if strings.HasPrefix(word, "--") {
		return "", "", false, false
	}
	for j := 1; j < len(word); j++ {
		at := strings.IndexByte(u.short, word[j])
		if at < 0 || strings.IndexByte(marks+"#", word[j]) >= 0 {
			return "", "", false, false
		}
		rest := u.short[at+1:]
		mark := rest[:len(rest)-len(strings.TrimLeft(rest, marks))]
		has += mark
		if strings.ContainsAny(mark, ":?@") {
			return has, word[j+1:], j+1 < len(word), true
		}
	}
	return has, "", false, true
}
