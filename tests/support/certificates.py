"""Certificates of hosts that nobody else trusts, for servers on loopback."""

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def write_certificate(host: str, certificate: Path, key_file: Path) -> None:
    """Write the certificate of a host, signed by itself, and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name, day = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)]), datetime.timedelta(days=1)
    made = x509.CertificateBuilder(name, name, key.public_key(), 7, now - day, now + day)
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    how = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, *how))
