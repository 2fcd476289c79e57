package schemas

import (
	"bytes"
	"io/fs"
	"path"
	"strings"
)

// Published returns the text of a file, such as payload/chat.schema.json. Its id and
// its references are relative to the file, so that a copy of the folder is complete
// at any address.
func Published(file string) (text []byte, ok bool) {
	text, err := files.ReadFile(file)
	if err != nil {
		return nil, false
	}
	return bytes.ReplaceAll(text, []byte(base), []byte(strings.Repeat("../", strings.Count(file, "/")))), true
}

// Files returns the files of a folder, sorted.
func Files(folder string) []string {
	list, _ := fs.Glob(files, path.Join(folder, "*"+suffix)) // an error is about the pattern
	return list
}
