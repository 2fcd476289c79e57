package argument

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of matchers and of the texts that they compare.
const (
	maxEntries  = 64   // of a list in a matcher
	maxEntry    = 1024 // bytes of one of them
	maxGlob     = 256  // bytes of a glob
	maxGlobs    = 1024 // bytes of the globs of a list
	maxArgument = 4096 // bytes of a path or URL
	maxSegments = 256  // of a path
)

// checkKeys reports an error unless a value is an object with no other keys.
func checkKeys(v protocol.Value, keys ...string) error {
	if v.Type() != protocol.TypeObject {
		return &Error{Err: fmt.Errorf("it must be an object; its keys are %s", strings.Join(keys, ", "))}
	}
	for key := range v.Members {
		if !slices.Contains(keys, key.Text()) {
			return &Error{Pointer: "/" + protocol.EscapePointer(key.Text()), Err: fmt.Errorf("it is unknown; use %s", strings.Join(keys, ", "))}
		}
	}
	return nil
}

// readList reads the member of an object that is one value or a list of them; it is nil
// if there is none.
func readList[T any](v protocol.Value, key string, read func(protocol.Value) (T, error)) ([]T, error) {
	member := v.Get(key)
	if !member.Exists() {
		return nil, nil
	}
	pointer := "/" + key
	if member.Type() != protocol.TypeArray {
		x, err := read(member)
		if err != nil {
			return nil, &Error{Pointer: pointer, Err: err}
		}
		return []T{x}, nil
	}
	if member.Len() == 0 || member.Len() > maxEntries {
		return nil, &Error{Pointer: pointer, Err: fmt.Errorf("a list has 1 to %d elements", maxEntries)}
	}
	var list []T
	for element := range member.Elements {
		x, err := read(element)
		if err != nil {
			return nil, &Error{Pointer: pointer + "/" + strconv.Itoa(len(list)), Err: err}
		}
		list = append(list, x)
	}
	return list, nil
}

// readEntry reads a text of a matcher.
func readEntry(v protocol.Value) (string, error) {
	s := v.Text()
	switch {
	case v.Type() != protocol.TypeString:
		return "", errors.New("it must be a string")
	case s == "":
		return "", errors.New("it is empty")
	case len(s) > maxEntry:
		return "", fmt.Errorf("it has more than %d bytes", maxEntry)
	case !isPlain(s):
		return "", errors.New("it has a control character")
	}
	return s, nil
}

// readGlob reads a glob of a matcher, and adds its bytes to those of the other globs of the list.
func readGlob(v protocol.Value, size *int) (string, error) {
	s, err := readEntry(v)
	if err != nil {
		return "", err
	}
	*size += len(s)
	switch {
	case len(s) > maxGlob:
		return "", fmt.Errorf("a glob has at most %d bytes", maxGlob)
	case *size > maxGlobs:
		return "", fmt.Errorf("the globs of a list have at most %d bytes together", maxGlobs)
	}
	return s, nil
}

// isPlain reports whether a text is UTF-8 without control characters.
func isPlain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// hiddenSyntax matches characters in percent encoding that would change the meaning of a path
// if it were decoded once more or once less: dots, slashes, backslashes and percent signs.
var hiddenSyntax = regexp.MustCompile(`(?i)%(?:2[ef5]|5c)`)

// decodePath decodes the path of a URL, if that leaves no doubt about its segments.
func decodePath(s string) (string, bool) {
	if hiddenSyntax.MatchString(s) {
		return "", false
	}
	decoded, err := url.PathUnescape(s)
	return decoded, err == nil && isPlain(decoded)
}

// isInvisible reports whether a character is not displayed, as far as that is not a control
// character.
func isInvisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
