package argument

import "strings"

// Absolute returns what a path certainly means as an absolute path. It is false if the path is uncertain,
// or relative to something unknown.
func Absolute(text string, at Place) (path string, ok bool) {
	l, ok := resolve(text, at)
	return l.text(), ok
}

// Canonical is Absolute in one spelling: those that some file system takes for the same file are
// equal.
func Canonical(text string, at Place) (path string, ok bool) {
	l, ok := resolve(text, at)
	return l.loose().text(), ok
}

func resolve(text string, at Place) (l location, ok bool) {
	argument, err := readArgument(text)
	if err != nil {
		return location{}, false
	}
	dir, ok := readStart(at.Dir)
	if !ok {
		return location{}, false
	}
	l, ok = argument.from(dir)
	if !ok || l.kind != absolute && l.kind != drive {
		return l, false
	}
	_, err = readLocation(l.text()) // without a slash behind it, its end may be a blank
	return l, err == nil
}

// text returns an absolute location as a path.
func (l location) text() string {
	path := strings.Join(l.segments, "/")
	switch {
	case l.kind == absolute:
		return "/" + path
	case len(l.segments) == 1:
		return path + "/" // of a drive
	}
	return path
}
