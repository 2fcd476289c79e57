package argument

import (
	"slices"
	"strings"
	"sync"

	"github.com/meup-protocol/meup/internal/kit/glob"
)

// SecretNames are globs of the names of files with keys, for not of a [Path].
var SecretNames = []string{
	".env*", "*secret*", "*credential*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*keystore*", "*.tfstate*", "id_*", ".ssh", ".aws",
	".npmrc", ".pypirc", ".netrc", ".htpasswd",
}

// Spared returns what a derived rule for paths leaves out: what git runs, and [SecretNames].
func Spared() []string { return append([]string{"**/.git/**"}, SecretNames...) }

var secretNames = sync.OnceValue(func() []exclusion {
	out := make([]exclusion, len(SecretNames))
	for i, name := range SecretNames {
		e, err := readExclusion(name)
		if err != nil {
			panic(err)
		}
		out[i] = e
	}
	return out
})

// NamesSecret reports whether a path, or a part of a word of a command beside = : and commas, has one
// of [SecretNames].
func NamesSecret(text string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("=:,", r) }), func(part string) bool {
		l, err := readArgument(part)
		name := globText(l.loose().segments)
		return err == nil && slices.ContainsFunc(secretNames(), func(e exclusion) bool { return glob.Match(e.loose, name) })
	})
}
