// OpenSSL's libcrypto for Swift: the one thing we need of it, as a plain function.
#ifndef COPENSSL_SHIM_H
#define COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stddef.h>

/// More than a signature by the largest key that is accepted, of 8192 bits.
enum { ADBRAKE_SIGNATURE_BYTES_MAX = 1024 };

/// How a signing ends.
enum adbrake_signing {
    ADBRAKE_SIGNED = 0,
    ADBRAKE_NO_KEY = 1,       // the text is no private key in PEM
    ADBRAKE_NOT_RSA = 2,      // a key of another kind, or of a size that is not accepted
    ADBRAKE_NOT_SIGNED = 3,
};

/// A key with a password is none: nobody is asked for it.
static inline int adbrake_no_password(char *buffer, int size, int writing, void *context) {
    (void)buffer;
    (void)size;
    (void)writing;
    (void)context;
    return 0;
}

/// Signs by RSASSA-PKCS1-v1_5 with SHA-256, the RS256 of RFC 7518. `signature` has room for
/// ADBRAKE_SIGNATURE_BYTES_MAX; `signature_size` is set to what was written.
static inline enum adbrake_signing adbrake_sign_rs256(
    const char *pem, size_t pem_size, const unsigned char *text, size_t text_size,
    unsigned char *signature, size_t *signature_size) {
    enum adbrake_signing ending = ADBRAKE_NO_KEY;
    EVP_PKEY *key = NULL;
    EVP_MD_CTX *context = NULL;
    BIO *source = BIO_new_mem_buf(pem, (int)pem_size);
    if (source != NULL) key = PEM_read_bio_PrivateKey(source, NULL, adbrake_no_password, NULL);
    if (key != NULL) {
        ending = ADBRAKE_NOT_RSA;
        int bits = EVP_PKEY_bits(key);
        if (EVP_PKEY_base_id(key) == EVP_PKEY_RSA && bits >= 2048 && bits <= 8192) {
            ending = ADBRAKE_NOT_SIGNED;
            context = EVP_MD_CTX_new();
            *signature_size = ADBRAKE_SIGNATURE_BYTES_MAX;
            if (context != NULL
                && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1
                && EVP_DigestSign(context, signature, signature_size, text, text_size) == 1)
                ending = ADBRAKE_SIGNED;
        }
    }
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    BIO_free(source);
    // What went wrong is in the ending; the library's own list must not grow.
    ERR_clear_error();
    return ending;
}

#endif
