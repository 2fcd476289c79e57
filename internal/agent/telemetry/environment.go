package telemetry

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// tracesPath is the collector's path for spans, relative to the endpoint for
// all signals.
const tracesPath = "/v1/traces"

// endpointFrom returns the URL for the export of spans, or "" if the export is
// disabled.
func endpointFrom(getenv func(string) string) (string, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return "", nil
	}
	wanted, err := exporterWanted(getenv("OTEL_TRACES_EXPORTER"))
	if err != nil || !wanted {
		return "", err
	}
	if v := getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); v != "" {
		u, err := collectorURL("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", v)
		if err != nil {
			return "", err
		}
		return u.String(), nil
	}
	if v := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); v != "" {
		u, err := collectorURL("OTEL_EXPORTER_OTLP_ENDPOINT", v)
		if err != nil {
			return "", err
		}
		return u.JoinPath(tracesPath).String(), nil
	}
	return "", nil
}

// exporterWanted parses OTEL_TRACES_EXPORTER, a list.
func exporterWanted(list string) (bool, error) {
	if strings.TrimSpace(list) == "" {
		return true, nil
	}
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	if i := slices.IndexFunc(names, func(n string) bool { return n != "otlp" && n != "none" }); i >= 0 {
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER %q: want otlp or none", names[i])
	}
	return slices.Contains(names, "otlp"), nil
}

// collectorURL checks an endpoint. The errors do not quote it, since it may
// contain a password.
func collectorURL(variable, value string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(value))
	var bad *url.Error
	switch {
	case errors.As(err, &bad):
		return nil, fmt.Errorf("%s is not a URL: %w", variable, bad.Err)
	case err != nil:
		return nil, fmt.Errorf("%s is not a URL", variable)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("%s: want http://HOST or https://HOST", variable)
	}
	return u, nil
}

// resourceFrom returns the resource of the spans. Its strings are masked here,
// once.
func resourceFrom(o Options, mask func(string) string) *resource.Resource {
	attributes := []attribute.KeyValue{
		semconv.TelemetrySDKName("opentelemetry"),
		semconv.TelemetrySDKLanguageGo,
	}
	if o.Service != "" {
		attributes = append(attributes, semconv.ServiceName(o.Service))
	}
	if o.Version != "" {
		attributes = append(attributes, semconv.ServiceVersion(o.Version))
	}
	attributes = append(attributes, pairs(o.Getenv("OTEL_RESOURCE_ATTRIBUTES"))...)
	if name := o.Getenv("OTEL_SERVICE_NAME"); name != "" {
		attributes = append(attributes, semconv.ServiceName(name))
	}
	for i := range attributes {
		attributes[i].Value = maskedValue(attributes[i].Value, mask)
	}
	// The last value of a duplicate key takes precedence.
	return resource.NewSchemaless(attributes...)
}

// pairs parses key=value,key=value, percent-encoded. It ignores invalid items.
func pairs(list string) []attribute.KeyValue {
	var attributes []attribute.KeyValue
	for pair := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" {
			continue
		}
		value = strings.TrimSpace(value)
		if decoded, err := url.PathUnescape(value); err == nil {
			value = decoded
		}
		attributes = append(attributes, attribute.String(key, value))
	}
	return attributes
}

// collectorKeys returns the values of the headers for the collector, which may
// quote them in a refusal.
func collectorKeys(getenv func(string) string) []string {
	var keys []string
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		for _, header := range pairs(getenv(variable)) {
			value := header.Value.AsString()
			_, credentials, _ := strings.Cut(value, " ") // after a scheme, such as Bearer
			keys = append(keys, value, strings.TrimSpace(credentials))
		}
	}
	return keys
}
