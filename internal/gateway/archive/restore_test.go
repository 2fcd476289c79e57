package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// stored makes a data folder with a stopped log of n entries, and a backup of it.
func stored(t *testing.T, n int) (data, archive string) {
	t.Helper()
	data = dataDir(t)
	r := start(t, data)
	for i := range n {
		r.append("lab", i)
	}
	r.stop()
	archive = filepath.Join(t.TempDir(), "b.tar.gz")
	mustCreate(t, data, archive)
	return data, archive
}

func TestRestore_Target(t *testing.T) {
	_, archive := stored(t, 2)
	restore := func(t *testing.T, data string, force bool) (*Restored, error) {
		t.Helper()
		return Restore(t.Context(), RestoreOptions{From: archive, Data: data, Force: force})
	}
	t.Run("new and empty", func(t *testing.T) {
		data := filepath.Join(t.TempDir(), "a", "b")
		if r, err := restore(t, data, false); err != nil || r.Replaced != "" {
			t.Fatal(r, err)
		}
		for _, path := range []string{data, filepath.Join(data, logFolder)} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v, %v", path, info, err)
			}
		}
		empty := t.TempDir()
		mkdir(t, empty, "lost+found")
		if _, err := restore(t, empty, false); err != nil {
			t.Error(err)
		}
	})
	t.Run("not empty", func(t *testing.T) {
		data := dataDir(t)
		r := start(t, data)
		r.append("den", 1)
		r.append("den", 2)
		r.append("den", 3)
		if _, err := restore(t, data, false); err == nil || !strings.Contains(err.Error(), "is not empty, it has log") {
			t.Errorf("got %v", err)
		}
		if _, err := restore(t, data, true); err == nil || !strings.Contains(err.Error(), "stop the gateway") {
			t.Errorf("while it is used: %v", err)
		}
		before := r.entries("den")
		r.stop()
		mkdir(t, data, "turns")
		if err := os.WriteFile(filepath.Join(data, "notes"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		restored, err := restore(t, data, true)
		if err != nil {
			t.Fatal(err)
		}
		aside := filepath.Base(restored.Replaced)
		if got := names(t, data); !slices.Equal(got, []string{"log", "notes", aside}) {
			t.Errorf("the data folder has %q", got)
		}
		if got := names(t, restored.Replaced); !slices.Equal(got, []string{"log", "turns"}) {
			t.Errorf("aside is %q", got)
		}
		again := start(t, data)
		if len(again.entries("lab")) != 2 || len(again.entries("den")) != 0 {
			t.Errorf("restored: %q %q", again.entries("lab"), again.entries("den"))
		}
		again.stop()
		if got := start(t, restored.Replaced).entries("den"); !slices.Equal(got, before) {
			t.Errorf("aside is %q, want %q", got, before)
		}
	})
	t.Run("log moved away from a running gateway", func(t *testing.T) {
		data, aside := dataDir(t), filepath.Join(t.TempDir(), "log")
		r := start(t, data)
		r.append("den", 1)
		if err := os.Rename(filepath.Join(data, logFolder), aside); err != nil {
			t.Skip("a folder in use cannot be moved:", err)
		}
		if _, err := restore(t, data, true); err == nil || !strings.Contains(err.Error(), data+" is in use; stop the gateway") {
			t.Errorf("while it runs: %v", err)
		}
		r.stop()
		if _, err := restore(t, data, true); err != nil {
			t.Errorf("after it has stopped: %v", err)
		}
	})
	t.Run("unknown whether a gateway runs", func(t *testing.T) {
		data := t.TempDir()
		other, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(data, SocketName), Net: "unixgram"})
		if err != nil {
			t.Skip("no such sockets:", err)
		}
		t.Cleanup(func() { _ = other.Close() })
		if _, err := restore(t, data, true); err == nil || !strings.Contains(err.Error(), "find out whether a gateway uses "+data) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("other files", func(t *testing.T) {
		data := t.TempDir()
		if err := os.WriteFile(filepath.Join(data, "notes"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := restore(t, data, false); err == nil || !strings.Contains(err.Error(), "it has notes") {
			t.Errorf("got %v", err)
		}
		mkdir(t, data, "log") // such as /var/log
		if _, err := restore(t, data, true); err == nil || !strings.Contains(err.Error(), "is not the log of a gateway") {
			t.Errorf("got %v", err)
		}
		if got := names(t, data); !slices.Equal(got, []string{"log", "notes"}) {
			t.Errorf("the folder has %q", got)
		}
	})
	t.Run("leftover", func(t *testing.T) {
		data := t.TempDir()
		old := filepath.Join(data, tempFolder, logFolder)
		if err := errors.Join(os.MkdirAll(old, 0o700), os.WriteFile(filepath.Join(old, "000001.sst"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := restore(t, data, false); err != nil {
			t.Fatal(err)
		}
		if got := names(t, data); !slices.Equal(got, []string{"log"}) {
			t.Errorf("the folder has %q", got)
		}
	})
	t.Run("another restore", func(t *testing.T) {
		data := t.TempDir()
		unlock, err := newTempFolder(filepath.Join(data, tempFolder))
		if err != nil {
			t.Fatal(err)
		}
		defer unlock()
		if _, err := restore(t, data, false); err == nil || !strings.Contains(err.Error(), "another process restores") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := restore(t, file, false); err == nil {
			t.Error("restored into a file")
		}
	})
}

func TestRestore_Interrupted(t *testing.T) {
	_, archive := stored(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	data := filepath.Join(t.TempDir(), "data")
	if _, err := Restore(ctx, RestoreOptions{From: archive, Data: data}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data folder is left: %v", err)
	}
}

// archivePart is a part of a tar file.
type archivePart struct {
	tar.Header
	content []byte
}

// parts reads an archive.
func parts(t *testing.T, archive string) (list []archivePart) {
	t.Helper()
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	unzip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(unzip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, archivePart{*h, content})
	}
}

// pack writes an archive, and end after it.
func pack(t *testing.T, list []archivePart, end string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, p := range list {
		h := p.Header
		h.Size = int64(len(p.content))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(p.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(zip, end); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// changeManifest returns the parts with another manifest.
func changeManifest(t *testing.T, list []archivePart, change func(m *Manifest)) []archivePart {
	t.Helper()
	m := new(Manifest)
	if err := json.Unmarshal(list[0].content, m); err != nil {
		t.Fatal(err)
	}
	change(m)
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	list = slices.Clone(list)
	list[0].content = text
	return list
}

// withFile adds a file to the manifest and to the archive.
func withFile(t *testing.T, list []archivePart, name string, content string) []archivePart {
	t.Helper()
	list = changeManifest(t, list, func(m *Manifest) {
		sum := sha256.Sum256([]byte(content))
		m.Files = append(m.Files, File{Name: name, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])})
		m.Bytes += int64(len(content))
	})
	return append(list, archivePart{tar.Header{Typeflag: tar.TypeReg, Name: "log/" + name, Mode: 0o600}, []byte(content)})
}

// Of a backup that is damaged or forged nothing is restored, and no file outside of the
// folder is written.
func TestRestore_HostileArchive(t *testing.T) {
	_, archive := stored(t, 3)
	good := parts(t, archive)
	whole, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	manifest := func(change func(m *Manifest)) []byte { return pack(t, changeManifest(t, good, change), "") }
	file := func(name string) []byte { return pack(t, withFile(t, good, name, "content"), "") }
	entry := func(h tar.Header) []byte { return pack(t, append(slices.Clone(good), archivePart{h, nil}), "") }
	replaced := func(h tar.Header) []byte { // instead of the last file
		list := slices.Clone(good)
		h.Name = list[len(list)-1].Name
		list[len(list)-1] = archivePart{h, nil}
		return pack(t, list, "")
	}
	flipped := func() []byte {
		list := slices.Clone(good)
		mark := &list[slices.IndexFunc(list, func(p archivePart) bool { return strings.HasSuffix(p.Name, "ACKNOWLEDGED") })]
		mark.content = slices.Clone(mark.content)
		mark.content[len(mark.content)/2] ^= 1
		return pack(t, list, "")
	}
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "not a backup"},
		{"no archive", []byte("hello"), "not a backup"},
		{"cut", whole[:len(whole)/2], "damaged or incomplete"},
		{"without its end", whole[:len(whole)-4], "damaged"},
		{"no manifest", pack(t, good[1:], ""), "does not begin with manifest.json"},
		{"manifest is no JSON", pack(t, append([]archivePart{{good[0].Header, []byte("{")}}, good[1:]...), ""), "not a backup"},
		{"other format", manifest(func(m *Manifest) { m.Format = "meup-backup/2" }), "restore the backup with the version"},
		{"format of something else", manifest(func(m *Manifest) { m.Format = "\x1b[2J" }), "not a backup"},
		{"version with control characters", manifest(func(m *Manifest) { m.Version = "v1\x1b[2J" }), "not valid"},
		{"no files", manifest(func(m *Manifest) { m.Files, m.Bytes = nil, 0 }), "lists no files"},
		{"missing file", pack(t, good[:len(good)-1], ""), "is missing"},
		{"changed byte", flipped(), "does not have the digest"},
		{"other digest", manifest(func(m *Manifest) { m.Files[0].SHA256 = strings.Repeat("0", 64) }), "does not have the digest"},
		{"bad digest", manifest(func(m *Manifest) { m.Files[0].SHA256 = "zz" }), "no valid digest"},
		{"larger", manifest(func(m *Manifest) { m.Files[0].Size++; m.Bytes++ }), "shorter than"},
		{"smaller", manifest(func(m *Manifest) { m.Files[0].Size--; m.Bytes-- }), "longer than"},
		{"other sum", manifest(func(m *Manifest) { m.Bytes++ }), "bytes together"},
		{"negative size", manifest(func(m *Manifest) { m.Files[0].Size = -1 }), "has the size"},
		{"sum overflows", manifest(func(m *Manifest) {
			m.Files[0].Size, m.Files[1].Size = 1<<62, 1<<62
		}), "has the size"},
		{"more than the disk has", manifest(func(m *Manifest) {
			m.Bytes += maxBytes/2 - m.Files[0].Size
			m.Files[0].Size = maxBytes / 2
		}), "the disk has"},
		{"listed twice", manifest(func(m *Manifest) { m.Files = append(m.Files, m.Files[0]); m.Bytes += m.Files[0].Size }), "listed twice"},
		{"there twice", pack(t, append(slices.Clone(good), good[1]), ""), "is there twice"},
		{"not in the manifest", entry(tar.Header{Typeflag: tar.TypeReg, Name: "log/000099.sst"}), "not in its manifest.json"},
		{"manifest twice", pack(t, append(slices.Clone(good), good[0]), ""), "not in its manifest.json"},
		{"parent folder", file("../../escaped"), "not the name of a file of a log"},
		{"absolute", file("/tmp/escaped"), "not the name of a file of a log"},
		{"backslash", file(`..\escaped`), "not the name of a file of a log"},
		{"folder", file("sub/000001.sst"), "not the name of a file of a log"},
		{"device of Windows", file("CON"), "not the name of a file of a log"},
		{"lock", file("LOCK"), "not the name of a file of a log"},
		{"long name", file(strings.Repeat("1", 300) + ".sst"), "not the name of a file of a log"},
		{"symbolic link", replaced(tar.Header{Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), "not a regular file"},
		{"hard link", replaced(tar.Header{Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}), "not a regular file"},
		{"device", replaced(tar.Header{Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}), "not a regular file"},
		{"more data", pack(t, good, strings.Repeat("x", 2*maxTrailer)), "data after its end"},
		{"other number of entries", manifest(func(m *Manifest) { m.Entries++ }), "states 4 in 1"},
		{"other log", manifest(func(m *Manifest) { m.Log = "other" }), "of the log other"},
		{"no store", pack(t, withFile(t, []archivePart{changeManifest(t, good, func(m *Manifest) { m.Files, m.Bytes = nil, 0 })[0]}, "000001.sst", "x"), ""), "does not exist"},
	} {
		t.Run(test.name, func(t *testing.T) {
			parent := t.TempDir()
			data, from := filepath.Join(parent, "data"), filepath.Join(t.TempDir(), "b.tar.gz")
			if err := os.WriteFile(from, test.data, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Restore(t.Context(), RestoreOptions{From: from, Data: data})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
			if left := names(t, parent); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
		})
	}
}

func TestRestore_HostileFolder(t *testing.T) {
	data, _ := stored(t, 2)
	for _, test := range []struct {
		name   string
		damage func(dir, file string) error
		want   string
	}{
		{"intact", func(string, string) error { return nil }, ""},
		{"no manifest", func(dir, _ string) error { return os.Remove(filepath.Join(dir, manifestName)) }, "has no manifest.json"},
		{"missing file", func(_, file string) error { return os.Remove(file) }, "no such file"},
		{"symbolic link", func(dir, file string) error {
			return errors.Join(os.Rename(file, filepath.Join(dir, "real")), os.Symlink(filepath.Join(dir, "real"), file))
		}, "not a regular file"},
		{"shorter", func(_, file string) error { return os.Truncate(file, 1) }, "shorter than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "b")
			mustCreate(t, data, dir)
			if err := test.damage(dir, filepath.Join(dir, "log", "ACKNOWLEDGED")); err != nil {
				t.Fatal(err)
			}
			_, err := Restore(t.Context(), RestoreOptions{From: dir, Data: filepath.Join(t.TempDir(), "data")})
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// checker is a receiver that checks each file.
type checker struct {
	t        *testing.T
	manifest *Manifest
	files    map[string]bool
}

func (c *checker) begin(m *Manifest) error {
	c.manifest, c.files = m, map[string]bool{}
	return m.check()
}

func (c *checker) file(f File, r io.Reader) error {
	sum := sha256.New()
	n, err := io.Copy(sum, r)
	if err != nil {
		return err
	}
	if c.files[f.Name] || !storeFile.MatchString(f.Name) || n != f.Size || hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
		c.t.Errorf("accepted %+v with %d bytes", f, n)
	}
	c.files[f.Name] = true
	return nil
}

// FuzzReadTar reads tar files, which gzip would hide from the fuzzer.
func FuzzReadTar(f *testing.F) {
	text := []byte("content")
	sum := sha256.Sum256(text)
	m := Manifest{
		Format: format, Version: "v1", Log: "a", Created: time.Unix(1, 0), Bytes: int64(len(text)),
		Files: []File{{"000001.sst", int64(len(text)), hex.EncodeToString(sum[:])}},
	}
	head, err := json.Marshal(m)
	if err != nil {
		f.Fatal(err)
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, p := range []archivePart{{tar.Header{Name: manifestName}, head}, {tar.Header{Name: "log/000001.sst"}, text}} {
		p.Header.Typeflag, p.Header.Size = tar.TypeReg, int64(len(p.content))
		if err := w.WriteHeader(&p.Header); err != nil {
			f.Fatal(err)
		}
		if _, err := w.Write(p.content); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Add(out.Bytes()[:1024])
	f.Add([]byte("no archive"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &checker{t: t}
		if err := readTar(t.Context(), bytes.NewReader(data), c); err == nil && len(c.files) != len(c.manifest.Files) {
			t.Errorf("accepted with %d of %d files", len(c.files), len(c.manifest.Files))
		}
	})
}
