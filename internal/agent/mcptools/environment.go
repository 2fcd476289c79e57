package mcptools

import (
	"os"
	"slices"
	"strings"
)

// defaultEnv are the environment variables passed to a server's command:
// variables that programs need to run, none likely to hold a secret. A name
// that ends with * is a prefix. Names are compared without case, for Windows.
var defaultEnv = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "LANG", "LANGUAGE", "LC_*", "TMPDIR", "XDG_*",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	// Windows.
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES*",
	"PROGRAMDATA", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// Environment returns the variables of this process to pass to a server's
// command: a fixed list of harmless ones, and those named by the caller.
func Environment(names ...string) []string {
	allowed := slices.Concat(defaultEnv, names)
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		key, _, _ := strings.Cut(variable, "=")
		return !slices.ContainsFunc(allowed, func(name string) bool {
			if prefix, ok := strings.CutSuffix(name, "*"); ok {
				return len(key) >= len(prefix) && strings.EqualFold(key[:len(prefix)], prefix)
			}
			return strings.EqualFold(key, name)
		})
	})
}
