package safety

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// examples are texts in which each rule finds something, written as formats so
// that no secret stands here: {class:n} is n random characters. What is to be
// masked stands between « and »; without them it is all of the text.
var examples = map[string][]string{
	"meup-token":                         {"meup_{alnum:43}"},
	"aws-access-token":                   {"AKIA{CAP:16}", "ASIA{CAP:16}"},
	"aws-secret-access-key":              {"aws_secret_access_key = «{b64:40}»\n", `"SecretAccessKey": "«{b64:40}»"`, "AWS_SECRET_ACCESS_KEY=«{b64:40}»"},
	"aws-bedrock-api-key":                {"ABSK{alnum:120}"},
	"gcp-api-key":                        {"AIza{word:35}"},
	"gcp-oauth-client-secret":            {"GOCSPX-{word:28}"},
	"gcp-oauth-access-token":             {"ya29.{word:60}"},
	"gcp-service-account":                {`"private_key_id": "«{hex:40}»"`},
	"azure-storage-account-key":          {"DefaultEndpointsProtocol=https;AccountName=x;AccountKey=«{b64:86}==»;EndpointSuffix=y"},
	"azure-shared-access-key":            {"SharedAccessKeyName=root;SharedAccessKey=«{b64:43}=»"},
	"azure-sas-signature":                {"?sv=2024-01-01&sig=«{alnum:43}%3D»"},
	"azure-ad-client-secret":             {"{alnum:3}8Q~{alnum:34}"},
	"azure-devops-pat":                   {"{alnum:76}AZDO{alnum:4}"},
	"alibaba-access-key-id":              {"LTAI{alnum:20}"},
	"digitalocean-pat":                   {"dop_v1_{hex:64}"},
	"digitalocean-access-token":          {"doo_v1_{hex:64}"},
	"digitalocean-refresh-token":         {"dor_v1_{hex:64}"},
	"heroku-api-key-v2":                  {"HRKU-AA{alnum:58}"},
	"heroku-api-key":                     {"HEROKU_API_KEY=«{uuid}»"},
	"cloudflare-origin-ca-key":           {"v1.0-{hex:24}-{hex:146}"},
	"cloudflare-api-key":                 {"CLOUDFLARE_API_TOKEN=«{alnum:40}»", "cloudflare_api_key: «{hex:37}»"},
	"flyio-access-token":                 {"fo1_{word:43}", "fm2_{alnum:200}"},
	"netlify-access-token":               {"nfp_{alnum:36}"},
	"scalingo-api-token":                 {"tk-us-{word:48}"},
	"tailscale-key":                      {"tskey-auth-{alnum:12}-{alnum:32}"},
	"supabase-access-token":              {"sbp_{hex:40}"},
	"planetscale-token":                  {"pscale_pw_{alnum:43}", "pscale_tkn_{alnum:43}"},
	"github-pat":                         {"ghp_{alnum:36}"},
	"github-oauth":                       {"gho_{alnum:36}"},
	"github-app-token":                   {"ghu_{alnum:36}", "ghs_{alnum:36}"},
	"github-refresh-token":               {"ghr_{alnum:76}"},
	"github-fine-grained-pat":            {"github_pat_{alnum:22}_{alnum:59}"},
	"gitlab-pat":                         {"glpat-{alnum:20}", "glpat-{alnum:27}.01.{alnum:9}"},
	"gitlab-ptt":                         {"glptt-{hex:40}"},
	"gitlab-deploy-token":                {"gldt-{alnum:20}", "glrt-{alnum:20}", "glcbt-{alnum:25}"},
	"bitbucket-app-password":             {"ATBB{alnum:32}"},
	"atlassian-api-token":                {"ATATT3{alnum:186}"},
	"npm-access-token":                   {"npm_{alnum:36}"},
	"pypi-upload-token":                  {"pypi-AgEIcHlwaS5vcmc{alnum:70}"},
	"rubygems-api-token":                 {"rubygems_{hex:48}"},
	"clojars-api-token":                  {"CLOJARS_{lower:60}"},
	"nuget-api-key":                      {"oy2{lower:43}"},
	"docker-access-token":                {"dckr_pat_{alnum:27}", "dckr_oat_{alnum:32}"},
	"artifactory-api-key":                {"AKCp{alnum:69}"},
	"jfrog-reference-token":              {"cmVmdGtu{alnum:56}"},
	"circleci-pat":                       {"CCIPAT_{alnum:22}_{hex:40}"},
	"buildkite-token":                    {"bkua_{hex:40}"},
	"pulumi-api-token":                   {"pul-{hex:40}"},
	"hashicorp-tf-api-token":             {"{alnum:14}.atlasv1.{alnum:67}"},
	"sourcegraph-access-token":           {"sgp_{hex:16}_{hex:40}", "sgp_{hex:40}"},
	"databricks-api-token":               {"dapi{hex:32}", "dapi{hex:32}-2"},
	"doppler-api-token":                  {"dp.pt.{alnum:43}", "dp.st.dev.{alnum:43}"},
	"vault-service-token":                {"hvs.{alnum:95}"},
	"vault-batch-token":                  {"hvb.{alnum:140}"},
	"vault-recovery-token":               {"hvr.{alnum:95}"},
	"openshift-user-token":               {"sha256~{word:43}"},
	"onepassword-service-account-token":  {"ops_eyJ{alnum:250}"},
	"onepassword-secret-key":             {"A3-{CAP:6}-{CAP:11}-{CAP:5}-{CAP:5}-{CAP:5}"},
	"age-secret-key":                     {"AGE-SECRET-KEY-1{bech:58}"},
	"anthropic-api-key":                  {"sk-ant-api03-{word:93}AA", "sk-ant-admin01-{word:93}AA"},
	"openrouter-api-key":                 {"sk-or-v1-{hex:64}"},
	"openai-api-key":                     {"sk-proj-{word:74}T3BlbkFJ{word:73}A", "sk-{alnum:20}T3BlbkFJ{alnum:20}", "sk-svcacct-{word:60}"},
	"huggingface-access-token":           {"hf_{alnum:34}"},
	"huggingface-organization-api-token": {"api_org_{alnum:34}"},
	"groq-api-key":                       {"gsk_{alnum:52}"},
	"perplexity-api-key":                 {"pplx-{alnum:48}"},
	"replicate-api-token":                {"r8_{alnum:37}"},
	"xai-api-key":                        {"xai-{alnum:80}"},
	"langsmith-api-key":                  {"lsv2_pt_{hex:32}_{hex:10}"},
	"slack-bot-token":                    {"xoxb-{digit:12}-{digit:12}-{alnum:24}"},
	"slack-user-token":                   {"xoxp-{digit:12}-{digit:12}-{digit:12}-{hex:32}"},
	"slack-config-access-token":          {"xoxe.xoxp-1-{alnum:166}"},
	"slack-legacy-token":                 {"xoxr-{alnum:30}", "xoxs-{digit:10}-{digit:10}-{hex:10}"},
	"slack-app-token":                    {"xapp-1-A{CAP:10}-{digit:13}-{hex:64}"},
	"slack-webhook-url":                  {"https://hooks.slack.com/services/«T{CAP:8}/B{CAP:8}/{alnum:24}»"},
	"discord-webhook-url":                {"https://discord.com/api/webhooks/{digit:18}/«{word:68}»"},
	"discord-bot-token":                  {"the discord bot logs in with «MT{alnum:24}.{alnum:6}.{alnum:38}»"},
	"microsoft-teams-webhook":            {"https://x.webhook.office.com/«webhookb2/{uuid}@{uuid}/IncomingWebhook/{hex:32}/{uuid}»"},
	"telegram-bot-api-token":             {"{digit:10}:AA{alnum:33}"},
	"twilio-api-key":                     {"SK{hex:32}"},
	"twilio-auth-token":                  {"TWILIO_AUTH_TOKEN=«{hex:32}»"},
	"sendgrid-api-token":                 {"SG.{alnum:22}.{alnum:43}"},
	"sendinblue-api-token":               {"xkeysib-{hex:64}-{alnum:16}"},
	"mailgun-private-api-token":          {"key-{hex:32}"},
	"mailgun-signing-key":                {"MAILGUN_API_KEY=«{hex:32}-{hex:8}-{hex:8}»"},
	"mailchimp-api-key":                  {"mailchimp key: «{hex:32}-us12»"},
	"stripe-access-token":                {"sk_live_{alnum:24}", "rk_test_{alnum:99}"},
	"stripe-webhook-secret":              {"whsec_{alnum:32}"},
	"shopify-access-token":               {"shpat_{hex:32}"},
	"shopify-custom-access-token":        {"shpca_{hex:32}"},
	"shopify-private-app-access-token":   {"shppa_{hex:32}"},
	"shopify-shared-secret":              {"shpss_{hex:32}"},
	"square-access-token":                {"sq0atp-{word:22}", "sq0csp-{word:43}"},
	"easypost-api-token":                 {"EZAK{alnum:54}"},
	"shippo-api-token":                   {"shippo_live_{hex:40}"},
	"flutterwave-secret-key":             {"FLWSECK-{hex:32}-X"},
	"linear-api-key":                     {"lin_api_{alnum:40}"},
	"notion-api-token":                   {"ntn_{digit:11}{alnum:35}"},
	"notion-legacy-api-token":            {"secret_{alnum:43}"},
	"airtable-personal-access-token":     {"pat{alnum:14}.{hex:64}"},
	"figma-pat":                          {"figd_{word:40}"},
	"typeform-api-token":                 {"tfp_{word:59}"},
	"postman-api-token":                  {"PMAK-{hex:24}-{hex:34}"},
	"readme-api-token":                   {"rdme_{lower:70}"},
	"dropbox-short-lived-api-token":      {"sl.{word:140}", "sl.u.{word:1200}"},
	"new-relic-user-api-key":             {"NRAK-{CAP:27}"},
	"new-relic-insert-key":               {"NRII-{alnum:32}"},
	"new-relic-browser-api-token":        {"NRJS-{hex:19}"},
	"datadog-access-token":               {"DD_API_KEY=«{hex:32}»", "datadog app key: «{hex:40}»", "dd-api-key: «{hex:32}»"},
	"sentry-user-token":                  {"sntryu_{hex:64}"},
	"sentry-org-token":                   {"sntrys_eyJ{alnum:120}_{alnum:43}"},
	"grafana-service-account-token":      {"glsa_{alnum:32}_{hex:8}"},
	"grafana-cloud-api-token":            {"glc_eyJ{alnum:120}"},
	"dynatrace-api-token":                {"dt0c01.{CAP:24}.{CAP:64}"},
	"maxmind-license-key":                {"{alnum:6}_{alnum:29}_mmk"},
	"private-key":                        {pem("RSA PRIVATE KEY"), pem("OPENSSH PRIVATE KEY"), pem("PGP PRIVATE KEY BLOCK"), encryptedPEM, "-----BEGIN EC PRIVATE KEY-----\\n{alnum:64}\\n{alnum:30}"},
	"putty-private-key":                  {"Private-Lines: 2\n«{alnum:64}\n{alnum:40}»"},
	"jwt":                                {"eyJ{alnum:33}.eyJ{word:80}.{word:43}", "eyJ{alnum:17}.eyJ{word:60}."},
	"database-url":                       {"postgres://app:«{alnum:14}»@db:5432/x", "mongodb+srv://u:«{alnum:9}»@c.example.net", "redis://:«{alnum:12}»@cache:6379", "amqps://a:«p%40{alnum:5}»@mq"},
	"basic-auth-url":                     {"https://bob:«{alnum:10}»@git.example.org/x.git", "git+ssh://bob:«{alnum:10}»@h"},
	"authorization-header":               {"Authorization: Basic «{b64:24}»", `"x-api-key": "«{alnum:24}»"`},
	"bearer-token":                       {"Authorization: Bearer «{alnum:30}»", "bearer «{word:20}9»"},
	"curl-auth-user":                     {"curl -s -u bob:«{alnum:9}» https://x.example.org", "curl --user bob:«{alnum:9}» x"},
	"generic-api-key":                    {`api_key: "«{alnum:30}7»"`, "token=«{hex:32}7»", "client_secret := '«{alnum:24}7»'", `{"accessKey":"«{alnum:22}7»"}`, "my api key is «{alnum:24}7», use it", "AUTH_TOKEN=«{uuid}»"},
	"generic-password":                   {"password=«hunter2»", `"db_password": "«S3cure!{alnum:5}»"`, "the password is «{alnum:9}5»", "PWD: «{alnum:8}1»", "passphrase: «x9{alnum:8}»"},
}

func pem(name string) string {
	return "-----BEGIN " + name + "-----\n{alnum:64}\n{alnum:64}\n{alnum:20}==\n-----END " + name + "-----"
}

const encryptedPEM = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{HEX:32}\n\n{alnum:64}\n-----END RSA PRIVATE KEY-----"

const (
	digits = "0123456789"
	small  = "abcdefghijklmnopqrstuvwxyz"
	large  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

var classes = map[string]string{
	"digit": digits, "hex": digits + "abcdef", "HEX": digits + "ABCDEF",
	"lower": digits + small, "CAP": digits + large, "alnum": digits + small + large,
	"b64": digits + small + large + "/+", "word": digits + small + large + "_-",
	"bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}

func random(r *rand.Rand, class string, n int) string {
	var b strings.Builder
	for range n {
		c := classes[class][r.IntN(len(classes[class]))]
		if b.Len() == n-1 && (c == '-' || c == '_') {
			c = 'x' // some formats end where a word ends
		}
		b.WriteByte(c)
	}
	return b.String()
}

// write makes a text of a format.
func write(t testing.TB, r *rand.Rand, format string) string {
	t.Helper()
	format = strings.ReplaceAll(format, "{uuid}", "{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}")
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(format, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		var class string
		var n int
		if _, err := fmt.Sscanf(strings.Replace(name, ":", " ", 1), "%s %d", &class, &n); err != nil || classes[class] == "" {
			b.WriteString("{") // a brace of the text itself
			format = rest
			continue
		}
		b.WriteString(random(r, class, n))
		format = after
	}
}

// example writes a format and returns its text, and the text with the secret
// masked.
func example(t testing.TB, r *rand.Rand, rule, format string) (text, masked string) {
	t.Helper()
	written := write(t, r, format)
	before, rest, marked := strings.Cut(written, "«")
	if !marked {
		return written, marker(rule)
	}
	secret, after, _ := strings.Cut(rest, "»")
	return before + secret + after, before + marker(rule) + after
}
