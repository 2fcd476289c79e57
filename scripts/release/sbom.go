package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The parts of an SPDX 2.3 document that a bill of materials needs.
type (
	spdxDocument struct {
		Version       string             `json:"spdxVersion"`
		License       string             `json:"dataLicense"`
		ID            string             `json:"SPDXID"`
		Name          string             `json:"name"`
		Namespace     string             `json:"documentNamespace"`
		Creation      spdxCreation       `json:"creationInfo"`
		Packages      []spdxPackage      `json:"packages"`
		Relationships []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID         string         `json:"SPDXID"`
		Name       string         `json:"name"`
		Version    string         `json:"versionInfo"`
		Location   string         `json:"downloadLocation"`
		Analyzed   bool           `json:"filesAnalyzed"`
		License    string         `json:"licenseConcluded"`
		Declared   string         `json:"licenseDeclared"`
		Copyright  string         `json:"copyrightText"`
		Purpose    string         `json:"primaryPackagePurpose,omitempty"`
		Checksums  []spdxChecksum `json:"checksums,omitempty"`
		References []spdxRef      `json:"externalRefs,omitempty"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxRef struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

// noAssertion is SPDX's value for facts that the document does not state.
const noAssertion = "NOASSERTION"

var notInID = regexp.MustCompile(`[^0-9A-Za-z.-]+`)

// billOfMaterials lists the modules of the programs of a platform, as the Go
// linker recorded them in the files.
func billOfMaterials(r *release, p platform, built []file) ([]byte, error) {
	d := spdxDocument{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: "meup-" + r.version + "-" + p.String(),
		Creation: spdxCreation{Created: r.at.Format(time.RFC3339), Creators: []string{"Tool: meup-release"}},
	}
	modules := make(map[string]spdxPackage) // by id
	content := sha256.New()
	for _, f := range built {
		info, err := buildinfo.Read(bytes.NewReader(f.data))
		if err != nil {
			return nil, fmt.Errorf("modules of %s: %w", f.name, err)
		}
		sum := sha256.Sum256(f.data)
		content.Write(sum[:])
		program := spdxPackage{
			ID: "SPDXRef-Program-" + notInID.ReplaceAllString(f.name, "-"), Name: f.name, Version: r.version, Location: noAssertion,
			License: "Apache-2.0", Declared: "Apache-2.0", Copyright: noAssertion, Purpose: "APPLICATION",
			Checksums: []spdxChecksum{{"SHA256", hex.EncodeToString(sum[:])}},
		}
		d.Packages = append(d.Packages, program)
		d.Relationships = append(d.Relationships, spdxRelationship{d.ID, "DESCRIBES", program.ID})
		used := []spdxPackage{modulePackage("stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			used = append(used, modulePackage(m.Path, m.Version))
		}
		for _, m := range used {
			modules[m.ID] = m
			d.Relationships = append(d.Relationships, spdxRelationship{program.ID, "DEPENDS_ON", m.ID})
		}
	}
	for _, m := range modules {
		d.Packages = append(d.Packages, m)
	}
	slices.SortFunc(d.Packages, func(a, b spdxPackage) int { return strings.Compare(a.ID, b.ID) })
	d.Namespace = "https://github.com/meup-protocol/meup/spdx/" + d.Name + "-" + hex.EncodeToString(content.Sum(nil))
	out, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return nil, err
	}
	return append(out, '\n'), nil
}

// modulePackage returns the package of a Go module.
func modulePackage(path, version string) spdxPackage {
	return spdxPackage{
		ID: "SPDXRef-Module-" + notInID.ReplaceAllString(path+"-"+version, "-"), Name: path, Version: version, Location: noAssertion,
		License: noAssertion, Declared: noAssertion, Copyright: noAssertion, Purpose: "LIBRARY",
		References: []spdxRef{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + strings.ToLower(path) + "@" + strings.ReplaceAll(version, "+", "%2B")}},
	}
}
