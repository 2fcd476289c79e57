package safetytest

// Formats that are sufficient by themselves: the name of the rule, then formats. A
// blank is written as ␣, a line break as ␤.

const clouds = `
meup-token meup_{alnum:43}
aws-access-token AKIA{b32:16} ASIA{b32:16} A3TX{b32:16}
aws-amazon-bedrock-api-key-long-lived ABSK{alnum:120}
aws-amazon-bedrock-api-key-short-lived bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t{alnum:300}
gcp-api-key AIza{word:35}
gcp-oauth-client-secret GOCSPX-{word:28}
gcp-oauth-access-token ya29.{word:60}
azure-storage-account-key DefaultEndpointsProtocol=https;AccountName=x;AccountKey=«{b64:86}==»;EndpointSuffix=y
azure-shared-access-key SharedAccessKeyName=root;SharedAccessKey=«{b64:43}=»
azure-sas-signature ?sv=2024-01-01&sig=«{alnum:43}%3D»
azure-ad-client-secret {alnum:3}8Q~{alnum:34} {alnum:3}7Q~{word:31}
azure-devops-pat {alnum:76}AZDO{alnum:4}
alibaba-access-key-id LTAI{alnum:20}
digitalocean-pat dop_v1_{hex:64}
digitalocean-access-token doo_v1_{hex:64}
digitalocean-refresh-token dor_v1_{hex:64}
heroku-api-key-v2 HRKU-AA{alnum:58}
cloudflare-origin-ca-key v1.0-{hex:24}-{hex:146}
flyio-access-token fo1_{word:43} fm2_{alnum:200}
netlify-access-token nfp_{alnum:36}
scalingo-api-token tk-us-{word:48}
tailscale-key tskey-auth-{alnum:12}-{alnum:32}
supabase-access-token sbp_{hex:40} sb_secret_{word:31}
planetscale-password pscale_pw_{alnum:43}
planetscale-api-token pscale_tkn_{alnum:43}
planetscale-oauth-token pscale_oauth_{alnum:43}
clickhouse-cloud-api-secret-key 4b1d{alnum:38}
yandex-access-token t1.{word:140}.{word:86}
yandex-api-key AQVN{word:36}
settlemint-application-access-token sm_aat_{alnum:16}
settlemint-personal-access-token sm_pat_{alnum:16}
settlemint-service-access-token sm_sat_{alnum:16}
defined-networking-api-token dnkey-{alnum:26}-{alnum:52}
gcp-express-api-key AQ.Ab8RN6{word:44}
gcp-oauth-refresh-token 1//0{pick:g|h|3|4}{word:98}
azure-ai-services-key {alnum:52}JQQJ99{CAP:12}{alnum:14}
azure-container-registry-password {alnum:42}+ACR{alnum:6}
cloudflare-scannable-token cfut_{alnum:40}{hex:8} cfat_{alnum:40}{hex:8} cfk_{alnum:40}{hex:8}
vercel-access-token vcp_{alnum:56} vci_{alnum:56} vck_{alnum:56} vcp_{alnum:24}
vercel-blob-token vercel_blob_rw_{alnum:16}_{alnum:30}
render-api-key rnd_{alnum:28} rnd_{alnum:32}
neon-api-key napi_{lower:64}
confluent-cloud-api-secret cflt{b64:59}x
`

const code = `
github-pat ghp_{alnum:36}
github-oauth gho_{alnum:36}
github-app-token ghu_{alnum:36} ghs_{alnum:36}
github-refresh-token ghr_{alnum:76}
github-fine-grained-pat github_pat_{alnum:22}_{alnum:59}
gitlab-pat glpat-{alnum:20}
gitlab-pat-routable glpat-{alnum:27}.01.{lower:9} glpat-{word:40}.{lower:9}
gitlab-ptt glptt-{hex:40}
gitlab-deploy-token gldt-{word:20}
gitlab-runner-authentication-token glrt-{word:20}
gitlab-runner-authentication-token-routable glrt-t1_{word:30}.01.{lower:9}
gitlab-rrt GR1348941{word:20}
gitlab-feed-token glft-{word:20}
gitlab-incoming-mail-token glimt-{word:25}
gitlab-kubernetes-agent-token glagent-{word:50}
gitlab-feature-flag-client-token glffct-{word:20}
gitlab-oauth-app-secret gloas-{word:64}
gitlab-cicd-job-token glcbt-{alnum:2}_{word:20}
gitlab-scim-token glsoat-{word:20}
gitlab-session-cookie _gitlab_session=«{hex:32}»
bitbucket-app-password ATBB{alnum:32}
atlassian-api-token ATATT3{alnum:186}
npm-access-token npm_{alnum:36}
pypi-upload-token pypi-AgEIcHlwaS5vcmc{alnum:70}
rubygems-api-token rubygems_{hex:48}
clojars-api-token CLOJARS_{lower:60}
nuget-api-key oy2{lower:43}
docker-access-token dckr_pat_{alnum:27} dckr_oat_{alnum:32}
artifactory-api-key AKCp{alnum:69}
artifactory-reference-token cmVmdGtu{alnum:56}
circleci-pat CCIPAT_{alnum:22}_{hex:40}
buildkite-token bkua_{hex:40}
sonar-api-token squ_{hex:40} sqp_{hex:40}
octopus-deploy-api-key API-{CAP:26}
harness-api-key pat.{word:22}.{alnum:24}.{alnum:20} sat.{alnum:22}.{alnum:24}.{alnum:20}
pulumi-api-token pul-{hex:40}
infracost-api-token ico-{alnum:32}
hashicorp-tf-api-token {alnum:14}.atlasv1.{alnum:67}
sourcegraph-access-token sgp_{hex:16}_{hex:40} sgp_{hex:40} sgp_local_{hex:40}
databricks-api-token dapi{hex:32} dapi{hex:32}-2
doppler-api-token dp.pt.{alnum:43} dp.st.dev.{alnum:43}
prefect-api-token pnu_{alnum:36}
vault-service-token hvs.{alnum:95}
vault-batch-token hvb.{alnum:140}
vault-recovery-token hvr.{alnum:95}
openshift-user-token sha256~{word:43}
1password-service-account-token ops_eyJ{alnum:250}
1password-secret-key A3-{CAP:6}-{CAP:11}-{CAP:5}-{CAP:5}-{CAP:5} A3-{CAP:6}-{CAP:6}-{CAP:5}-{CAP:5}-{CAP:5}-{CAP:5}
age-secret-key AGE-SECRET-KEY-1{bech:58}
authress-service-client-access-key sc_{lower:12}.{lower:4}.acc_{lower:14}.{alnum:60} authress_{lower:20}.{lower:5}.acc-{lower:14}.{alnum:60}
intra42-client-secret s-s4t2ud-{hex:64}
crates-io-api-token cio{alnum:32}
infisical-service-token st.{hex:24}.{hex:32}.{hex:32}
`

const models = `
anthropic-admin-api-key sk-ant-admin01-{word:93}AA
anthropic-api-key sk-ant-api03-{word:93}AA
openrouter-api-key sk-or-v1-{hex:64}
langfuse-secret-key sk-lf-{uuid}
openai-api-key sk-proj-{word:74}T3BlbkFJ{word:73}A sk-{alnum:20}T3BlbkFJ{alnum:20} sk-svcacct-{word:60}
huggingface-access-token hf_{letter:34}
huggingface-organization-api-token api_org_{letter:34}
groq-api-key gsk_{alnum:52}
perplexity-api-key pplx-{alnum:48}
replicate-api-token r8_{alnum:37}
xai-api-key xai-{alnum:80}
langsmith-api-key lsv2_pt_{hex:32}_{hex:10}
nvidia-api-key nvapi-{word:64}
pinecone-api-key pcsk_{alnum:6}_{alnum:63}
tavily-api-key tvly-{alnum:32} tvly-dev-{alnum:32}
voyage-api-key pa-{lower:1}{CAP:1}{digit:1}{word:40}
firecrawl-api-key fc-{hex:32}
elevenlabs-api-key sk_{hex:48}
fireworks-api-key fw_{alnum:22} fw_{alnum:24}
together-api-key tgp_v1_{word:43}
cerebras-api-key csk-{lower:48}
wandb-api-key wandb_v1_{alnum:22}_{alnum:40}
e2b-api-key e2b_{hex:40}
composio-api-key ak_{word:20}
`

const talk = `
slack-bot-token xoxb-{digit:12}-{digit:12}-{alnum:24}
slack-legacy-bot-token xoxb-{digit:12}-{alnum:24}
slack-user-token xoxp-{digit:12}-{digit:12}-{digit:12}-{hex:32}
slack-config-access-token xoxe.xoxp-1-{alnum:166}
slack-config-refresh-token xoxe-1-{alnum:146}
slack-legacy-workspace-token xoxr-{alnum:30} xoxa-2-{alnum:40}
slack-legacy-token xoxs-{digit:10}-{digit:10}-{digit:10}-{hex:10}
slack-session-token xoxc-{digit:12}-{digit:12}-{hex:64}
slack-app-token xapp-1-A{CAP:10}-{digit:13}-{hex:64}
slack-webhook-url https://hooks.slack.com/services/«T{CAP:8}/B{CAP:8}/{alnum:24}»
discord-webhook-url https://discord.com/api/webhooks/{digit:18}/«{word:68}»
discord-bot-token the␣discord␣bot␣logs␣in␣with␣«MT{alnum:24}.{alnum:6}.{alnum:38}» DISCORD_TOKEN=«Nz{alnum:22}.{alnum:6}.{word:27}»
microsoft-teams-webhook https://x.webhook.office.com/«webhookb2/{uuid}@{uuid}/IncomingWebhook/{hex:32}/{uuid}»
telegram-bot-api-token {digit:10}:AA{alnum:33}
twilio-api-key SK{hex:32}
sendgrid-api-token SG.{alnum:22}.{alnum:43}
sendinblue-api-token xkeysib-{hex:64}-{alnum:16}
mailgun-private-api-token key-{hex:32}
mailgun-pub-key pubkey-{hex:32}
hubspot-api-key pat-na1-{uuid}
facebook-page-access-token EAAM{alnum:160}
facebook-access-token facebook␣login␣with␣«{digit:16}|{word:27}» https://graph.facebook.com/me?access_token=«{digit:15}%7C{alnum:27}»
frameio-api-token fio-u-{word:64}
adobe-client-secret p8e-{lower:32}
adafruit-api-key aio_{alnum:28}
mapbox-api-token pk.eyJ{alnum:70}.{word:22}
okta-access-token SSWS␣«00{word:40}»
resend-api-key re_{alnum:8}_{alnum:24}
mailchimp-data-center-key {hex:32}-us{digit:2} {hex:32}-us6
discord-bot-token-bare MT{pick:A|E|I|M|Q|U|Y|c|g|k}{alnum:23}.G{word:5}.{alnum:38} Nz{alnum:22}.X{alnum:5}.{word:27} OD{alnum:22}.Y{alnum:5}.{word:27}
fcm-server-key AAAA{word:7}:APA91b{word:134}
`

const money = `
stripe-access-token sk_live_{alnum:24} rk_test_{alnum:99}
stripe-webhook-secret whsec_{alnum:32}
shopify-access-token shpat_{hex:32}
shopify-custom-access-token shpca_{hex:32}
shopify-private-app-access-token shppa_{hex:32}
shopify-shared-secret shpss_{hex:32}
square-access-token EAAA{word:60} sq0atp-{word:22} sq0csp-{word:43}
easypost-api-token EZAK{alnum:54}
easypost-test-api-token EZTK{alnum:54}
shippo-api-token shippo_live_{hex:40}
flutterwave-secret-key FLWSECK-{h8:32}-X FLWSECK_TEST-{h8:32}-X
flutterwave-encryption-key FLWSECK_TEST{h8:12} FLWSECK_TEST-{h8:12}
flutterwave-public-key FLWPUBK_TEST-{h8:32}-X
lob-api-key test_{hex:35} live_{hex:35}
lob-pub-api-key test_pub_{hex:31}
duffel-api-token duffel_test_{word:43}
stripe-organization-key sk_org_live_{alnum:24} sk_org_{alnum:60}
plaid-api-token access-sandbox-{uuid} access-production-{uuid}
`

const work = `
linear-api-key lin_api_{alnum:40}
notion-api-token ntn_{digit:11}{alnum:35}
notion-legacy-api-token secret_{alnum:43}
airtable-personnal-access-token pat{alnum:14}.{hex:64}
figma-pat figd_{word:40}
typeform-api-token tfp_{word:59}
postman-api-token PMAK-{hex:24}-{hex:34}
readme-api-token rdme_{lower:70}
dropbox-short-lived-api-token sl.{word:140} sl.u.{word:1200}
new-relic-user-api-key NRAK-{CAP:27}
new-relic-insert-key NRII-{alnum:32}
new-relic-browser-api-token NRJS-{hex:19}
sentry-user-token sntryu_{hex:64}
sentry-org-token sntrys_eyJpYXQiO{alnum:80}LCJyZWdpb25fdXJs{alnum:40}_{b64:43}
grafana-service-account-token glsa_{alnum:32}_{hex:8}
grafana-cloud-api-token glc_eyJ{alnum:120}
grafana-api-key eyJrIjoi{alnum:90}==
dynatrace-api-token dt0c01.{CAP:24}.{CAP:64}
maxmind-license-key {alnum:6}_{alnum:29}_mmk
asana-personal-access-token 1/12{digit:14}:{hex:32} 2/12{digit:14}/12{digit:14}:{hex:32} 0/{digit:16}:{hex:32}
posthog-personal-api-key phx_{alnum:43} phs_{alnum:48}
`

const general = `
gcp-service-account "private_key_id":␣"«{hex:40}»" \"private_key_id\":\"«{hex:40}»\"
putty-private-key Private-Lines:␣2␤«{alnum:64}␤{alnum:40}»
jwt eyJ{alnum:33}.eyJ{word:80}.{word:43} eyJ{alnum:17}.eyJ{word:60}.
jwt-base64 ZXlKaGJHY2lPaUpJVXpJ{alnum:40}{b64:120}
sidekiq-secret BUNDLE_ENTERPRISE__CONTRIBSYS__COM=«{hex:8}:{hex:8}» bundle_gems__contribsys__com:␣"«{hex:8}:{hex:8}»"
sidekiq-sensitive-url https://«{hex:8}:{hex:8}»@gems.contribsys.com/ http://«{hex:8}:{hex:8}»@enterprise.contribsys.com:80
database-url postgres://app:«{alnum:14}»@db:5432/x mongodb+srv://u:«{alnum:9}»@c.example.net redis://:«{alnum:12}»@cache:6379 amqps://a:«p%40{alnum:5}»@mq
database-url smtp://a:«{alnum:9}»@mail.example.org snowflake://bob:«{alnum:12}»@acme/db imaps://bob:«{alnum:9}»@mail mqtt://dev:«{alnum:9}»@broker:1883
url-token https://«{alnum:30}7»@git.example.org/x.git http://«{hex:40}»@sentry.example.org/4
cookie-header Cookie:␣«session={alnum:32}» Set-Cookie:␣«sid={alnum:32};␣Path=/»;␣HttpOnly Cookie:␣«theme=dark;␣connect.sid=s%3A{alnum:32}.{alnum:43};␣lang=de» cookie:␣«auth_token={alnum:24}»
netrc-password machine␣api.example.org␣login␣bob␣password␣«{alnum:12}» machine␣api.example.org␤login␣bob␤password␣«{alnum:12}»
command-password sshpass␣-p␣'«{alnum:9}»'␣ssh␣bob@host sshpass␣-p«{alnum:9}»␣ssh␣bob@host docker␣login␣-u␣bob␣-p␣«{alnum:20}»␣registry.example.org docker␣login␣--username␣bob␣--password=«{alnum:20}»
basic-auth-url https://bob:«{alnum:10}»@git.example.org/x.git git+ssh://bob:«{alnum:10}»@h ftp://bob:«{alnum:10}»@files.example.org
curl-auth-header curl␣-H␣"Authorization:␣Bearer␣«{alnum:40}»"␣https://x.example.org curl␣-s␣-X␣POST␣--header␣'X-Api-Key:␣«{alnum:32}»'␣https://x.example.org
curl-auth-user curl␣-s␣-u␣bob:«{alnum:9}»␣https://x.example.org curl␣--user␣bob:«{alnum:9}»␣x
authorization-header Authorization:␣Basic␣«{b64:24}» "x-api-key":␣"«{alnum:24}»" Authorization:␣token␣«{hex:40}»
bearer-token Authorization:␣Bearer␣«{alnum:30}» bearer␣«{word:20}9»
`
