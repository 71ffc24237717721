# Starts an endpoint of quic-interop-runner, whose folders are links into /run/endpoint:
# sh quic_interop_endpoint.sh WWW DOWNLOADS LOGS CERTIFICATE KEY AUTHORITY FOLDER [URL]... -- COMMAND...
set -e
mkdir -p /run/endpoint/certs
cd /run/endpoint
ln -sfn "$1" www
ln -sfn "$2" downloads
ln -sfn "$3" logs
ln -sf "$4" certs/cert.pem
ln -sf "$5" certs/priv.key
ln -sf "$6" certs/ca.pem
cd "$7"
shift 7
REQUESTS=
while [ "$1" != -- ]; do
    REQUESTS="$REQUESTS${REQUESTS:+ }$1"
    shift
done
shift
export REQUESTS
exec "$@"
