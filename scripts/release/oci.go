package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Media types of the OCI image specification 1.1.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// imageUser is the user of the image, without an account and a home.
const imageUser = 65532

// image is the content of the image for one platform.
type image struct {
	platform
	layer []byte // compressed
	diff  string // digest of the layer before compression
}

// descriptor refers to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *ociPlatform      `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type ociPlatform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type ociIndex struct {
	Schema    int          `json:"schemaVersion"`
	MediaType string       `json:"mediaType"`
	Manifests []descriptor `json:"manifests"`
}

type ociManifest struct {
	Schema      int               `json:"schemaVersion"`
	MediaType   string            `json:"mediaType"`
	Config      descriptor        `json:"config"`
	Layers      []descriptor      `json:"layers"`
	Annotations map[string]string `json:"annotations"`
}

type ociConfig struct {
	Created string `json:"created"`
	ociPlatform
	Config  ociRuntime   `json:"config"`
	RootFS  ociRootFS    `json:"rootfs"`
	History []ociHistory `json:"history"`
}

type ociRuntime struct {
	User       string
	Ports      map[string]struct{} `json:"ExposedPorts"`
	Env        []string
	Entrypoint []string
	Cmd        []string
	Volumes    map[string]struct{}
	Labels     map[string]string
	StopSignal string
}

type ociRootFS struct {
	Type  string   `json:"type"`
	Diffs []string `json:"diff_ids"`
}

type ociHistory struct {
	Created   string `json:"created"`
	CreatedBy string `json:"created_by"`
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// layer returns the only layer of an image: the programs, the data folder, and
// the certificate authorities if there is a file with them.
func (r *release) layer(p platform, built []file) (image, error) {
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	for _, dir := range []string{"usr/", "usr/local/", "usr/local/bin/", "etc/", "etc/ssl/", "etc/ssl/certs/"} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755, ModTime: r.at, Format: tar.FormatPAX}); err != nil {
			return image{}, err
		}
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "data/", Mode: 0o700, Uid: imageUser, Gid: imageUser, ModTime: r.at, Format: tar.FormatPAX}); err != nil {
		return image{}, err
	}
	var files []file
	for _, f := range built {
		files = append(files, file{"usr/local/bin/" + f.name, f.mode, f.data})
	}
	if r.certs != "" {
		data, err := os.ReadFile(r.certs)
		if err != nil {
			return image{}, fmt.Errorf("certificate authorities: %w", err)
		}
		files = append(files, file{"etc/ssl/certs/ca-certificates.crt", 0o644, data})
	}
	if err := w.Flush(); err != nil {
		return image{}, err
	}
	if err := tarred(&plain, files, r.at); err != nil { // ends the archive
		return image{}, err
	}
	compressed, err := gzipped(plain.Bytes())
	if err != nil {
		return image{}, err
	}
	return image{platform: p, layer: compressed, diff: digest(plain.Bytes())}, nil
}

// oci writes the image for all platforms, as an archive of an OCI image layout.
func (r *release) oci(images []image) error {
	var blobs []file
	index := ociIndex{Schema: 2, MediaType: typeIndex}
	add := func(mediaType string, data []byte) descriptor {
		d := descriptor{MediaType: mediaType, Digest: digest(data), Size: len(data)}
		name := "blobs/sha256/" + d.Digest[len("sha256:"):]
		if !slices.ContainsFunc(blobs, func(f file) bool { return f.name == name }) {
			blobs = append(blobs, file{name, 0o644, data})
		}
		return d
	}
	addJSON := func(mediaType string, v any) (descriptor, error) {
		data, err := json.Marshal(v)
		return add(mediaType, data), err
	}
	for _, i := range images {
		config, err := addJSON(typeConfig, r.config(i))
		if err != nil {
			return err
		}
		manifest, err := addJSON(typeManifest, ociManifest{
			Schema: 2, MediaType: typeManifest, Config: config, Layers: []descriptor{add(typeLayer, i.layer)}, Annotations: r.labels(),
		})
		if err != nil {
			return err
		}
		manifest.Platform = &ociPlatform{i.arch, i.os}
		index.Manifests = append(index.Manifests, manifest)
	}
	all, err := addJSON(typeIndex, index)
	if err != nil {
		return err
	}
	all.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.version}
	top, err := json.Marshal(ociIndex{Schema: 2, MediaType: typeIndex, Manifests: []descriptor{all}})
	if err != nil {
		return err
	}
	files := append([]file{{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)}, {"index.json", 0o644, top}}, blobs...)
	return r.saveTo("meup-"+r.version+"-oci.tar", func(w io.Writer) error { return tarred(w, files, r.at) })
}

func (r *release) saveTo(name string, write func(io.Writer) error) error {
	var out bytes.Buffer
	if err := write(&out); err != nil {
		return err
	}
	return r.save(name, out.Bytes())
}

func (r *release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title": "meup", "org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.source": "https://github.com/meup-protocol/meup", "org.opencontainers.image.created": r.at.Format(time.RFC3339),
	}
}

// config returns the configuration of an image, the same as in
// deploy/Dockerfile.
func (r *release) config(i image) ociConfig {
	at := r.at.Format(time.RFC3339)
	return ociConfig{
		Created: at, ociPlatform: ociPlatform{i.arch, i.os},
		Config: ociRuntime{
			User: fmt.Sprintf("%d:%[1]d", imageUser), Ports: map[string]struct{}{"8080/tcp": {}}, Volumes: map[string]struct{}{"/data": {}},
			Env: []string{"PATH=/usr/local/bin"}, Entrypoint: []string{"/usr/local/bin/meup-gateway"}, Labels: r.labels(), StopSignal: "SIGTERM",
			Cmd: []string{"serve", "--config", "/etc/meup/meup.yaml", "--listen", "0.0.0.0:8080", "--data", "/data"},
		},
		RootFS:  ociRootFS{"layers", []string{i.diff}},
		History: []ociHistory{{at, "go run ./scripts/release -version " + r.version}},
	}
}
