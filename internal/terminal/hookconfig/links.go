package hookconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// withRealPaths adds to the event of a call where the paths of its arguments lead by symbolic
// links, which the gateway cannot see. An event without such links is returned as it is.
func withRealPaths(event []byte) []byte {
	var e struct {
		Folder    string                     `json:"cwd"`
		Arguments map[string]json.RawMessage `json:"tool_input"`
	}
	if json.Unmarshal(event, &e) != nil {
		return event
	}
	real := make(map[string]string)
	for _, key := range protocol.PathArguments {
		var path string
		if json.Unmarshal(e.Arguments[key], &path) != nil || path == "" {
			continue
		}
		full := path
		if !filepath.IsAbs(path) {
			full = e.Folder + string(filepath.Separator) + path // a .. behind a link leaves its target
		}
		if to := realPath(full, maxLinks); filepath.IsAbs(full) && to != filepath.Clean(full) {
			real[path] = to
		}
	}
	if len(real) == 0 {
		return event
	}
	added, err := json.Marshal(real)
	if err != nil {
		return event
	}
	// The rest stays as it is, so that the gateway reads what the agent wrote.
	end := bytes.LastIndexByte(event, '}')
	return fmt.Appendf(event[:end:end], ",%q:%s}", api.HookRealPaths, added)
}

// maxLinks bounds the links of a path that lead to what does not exist.
const maxLinks = 40

// realPath resolves the links of a path, of which the last parts may not exist yet: writing to a link
// that leads nowhere makes what it leads to.
func realPath(path string, left int) string {
	to, err := filepath.EvalSymlinks(path)
	if err == nil {
		return to
	}
	i := strings.LastIndexByte(path, filepath.Separator)
	if i <= 0 || left == 0 {
		return path
	}
	folder := realPath(path[:i], left)
	full := filepath.Join(folder, path[i+1:])
	target, err := os.Readlink(full)
	switch {
	case err != nil:
		return full
	case filepath.IsAbs(target):
		return realPath(target, left-1)
	}
	return realPath(folder+string(filepath.Separator)+target, left-1)
}
