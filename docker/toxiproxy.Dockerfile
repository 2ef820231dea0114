# Shopify's toxiproxy: one static binary. Built by scripts/images from the Go module; with a registry the public image
# ghcr.io/shopify/toxiproxy does as well.
FROM scratch
COPY toxiproxy-server /toxiproxy-server
ENTRYPOINT ["/toxiproxy-server"]
CMD ["-host=0.0.0.0"]
