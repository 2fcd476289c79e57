package archive

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"
)

// format is the version of the form of a backup.
const format = "meup-backup/1"

// Names within a backup, and within the data folder.
const (
	manifestName = "manifest.json"
	logFolder    = "log"
)

// Bounds of a manifest that is read.
const (
	maxManifest = 64 << 20 // bytes; about 500,000 files
	maxName     = 128
	maxBytes    = 1 << 60
)

// Manifest describes a backup. It comes first in it, and the files of the log follow:
//
//	manifest.json
//	log/ACKNOWLEDGED
//	log/000012.sst
//	…
//
// It has a SHA-256 digest of each file, which detects damage; it does not authenticate a
// backup.
type Manifest struct {
	Format string `json:"format"`
	// Version is the version of the program that made the backup.
	Version string    `json:"version"`
	Created time.Time `json:"created"`
	// Log is the id of the log.
	Log string `json:"log"`
	// Entries is the number of entries that were ever appended to it.
	Entries uint64 `json:"entries"`
	Spaces  int    `json:"spaces"`
	// Bytes is the size of all files.
	Bytes int64  `json:"bytes"`
	Files []File `json:"files"`
}

// File is a file of the log.
type File struct {
	Name   string `json:"name"` // without a folder
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // in hexadecimal
}

// storeFile matches the names of the files that make a log: Pebble's, and the
// mark of acknowledged entries. Other files are not copied, and not accepted.
var storeFile = regexp.MustCompile(`^([0-9]+\.(sst|blob)|[0-9]+(-[0-9]+)?\.log|(MANIFEST|OPTIONS)-[0-9]+|marker\.(format-version|manifest)\.[0-9]+\.[A-Z0-9-]+|ACKNOWLEDGED)$`)

// plain matches texts of a manifest that are printed.
var plain = regexp.MustCompile(`^[A-Za-z0-9(][A-Za-z0-9 ._:+()/-]{0,127}$`)

var errNoBackup = errors.New("it is not a backup of meup-gateway")

// readManifest reads and checks a manifest.
func readManifest(r io.Reader) (*Manifest, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", manifestName, err)
	}
	if len(data) > maxManifest {
		return nil, fmt.Errorf("%s has more than %d bytes", manifestName, maxManifest)
	}
	m := new(Manifest)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errNoBackup, manifestName, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestName, err)
	}
	return m, nil
}

// check rejects a manifest that no program of this version has written.
func (m *Manifest) check() error {
	switch {
	case m.Format != format && plain.MatchString(m.Format):
		return fmt.Errorf("the format is %q, and this program reads %q: restore the backup with the version that made it", m.Format, format)
	case m.Format != format:
		return errNoBackup
	case !plain.MatchString(m.Version) || !plain.MatchString(m.Log):
		return errors.New("the version or the id of the log is not valid")
	case m.Spaces < 0 || m.Created.IsZero():
		return errors.New("the number of spaces or the time is not valid")
	case len(m.Files) == 0:
		return errors.New("it lists no files")
	}
	names := make(map[string]bool, len(m.Files))
	var bytes int64
	for _, f := range m.Files {
		digest, err := hex.DecodeString(f.SHA256)
		switch {
		case len(f.Name) > maxName || !storeFile.MatchString(f.Name):
			return fmt.Errorf("%.*q is not the name of a file of a log", maxName, f.Name)
		case names[f.Name]:
			return fmt.Errorf("%s is listed twice", f.Name)
		case f.Size < 0 || f.Size > maxBytes-bytes:
			return fmt.Errorf("%s has the size %d", f.Name, f.Size)
		case err != nil || len(digest) != 32:
			return fmt.Errorf("%s has no valid digest", f.Name)
		}
		names[f.Name] = true
		bytes += f.Size
	}
	if bytes != m.Bytes {
		return fmt.Errorf("the files have %d bytes together, and it claims %d", bytes, m.Bytes)
	}
	return nil
}
