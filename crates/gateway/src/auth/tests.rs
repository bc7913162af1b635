//! Tokens signed with RSA, which tests cannot make: a key and two tokens that were made once and end in 2100.

use super::signatures;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use serde_json::{Map, Value};

/// The modulus of the key; its secret part is gone.
const MODULUS: &str = "rrAeCLrqTYQKgeUCDEec97MpYIE32DELEcldg5MoqHzvYwpA0Tr0jolEpcgCStOTZQnqG13doxNEWJ4nz-W2FL5-dh5ZpEXj\
    aIstLc0A0zZkWOxcn-Ztk9xNwhCt04yUPrT6HpX7sckTMl3W3OX3CaJjOAUD2rArJ_fmIyWr-ygjZwTZO0arwpNtY-C-louI\
    MYNgREU-X46_n_TPK4OzM5UEfNae2crJvCBo5vKrDU_x1tDa9pbEiwHfRhI5mF6CeknN3ruT-CbWhaSXCZu1TOoNLfKn3X_H\
    VSnYKbZNSaJXCfoPfNSrlEcQH5JnNnBSg3pJQGeq0TflOhVoWhE7NQ";

/// Header and claims signed with PKCS #1, and with PSS.
const PLAIN: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6InIifQ.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlIiwiYXVkIjoiYSIsInN1YiI6I\
    mFkYSIsImV4cCI6NDEwMjQ0NDgwMH0.TYXAXkgSdge7wue4MDsQUEhwfJ2LxZoIrW9OdWqYtCqcx2GApE1fiTrC5DfsN6Gqc\
    66qSgcBs_T4WseqK8afdgulzUuF71vOTi9UEZM1H_E9_mZi5EjLjX2vkdPX_rn-af9LWpzB7PlIpP2HAHw5_HJF3F-IVrzvA\
    SF_n6c62-2z1az_XW4W58clGbWeaCnrfEhX2IgfSD8flb3z0iC38apowmEwMI2c65A0eC--glTj1D824aiFfnHl--iJqhonW\
    C2igfbIz6LxRRmMEfhhzbxDpveUDidJaFPUP-_nTWxsaKoeUZ_CgbNKWxzVQJoliF82KKwEFc4ZO6M18KZyeA";
const PROBABILISTIC: &str = "eyJhbGciOiJQUzI1NiIsImtpZCI6InIifQ.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlIiwiYXVkIjoiYSIsInN1YiI6I\
    mFkYSIsImV4cCI6NDEwMjQ0NDgwMH0.kZxlGpt1mW1UGqrl5PBXIjcBQ2JPUdUgXdubQj2_iqiVQGi-YkMA8ghwoaM-T4Rfn\
    XJYw3L26xdcvM7RqRaJ7vIaaHG0Y_Q1GzgAdYFeyyfQ7SSyXqFcq1t74L60AV7y18J8hBGFd012hEsKXitGiMNkd2sddGPME\
    R9RklnxVuIcBg5_vmjKvVi7batRSGXcaftHj-ztO58tR9X9l_yVEDifiSpVd1Oy9d0-KdvBwUhnS5FEE4oaLZgvYy-XDpAu3\
    H90LlNljg37iQLkjOE8VbfLN5cQjEl_ah9vkVkoDEbP6tKIZncir5yCRxrgETK3fR6AL0Gcu2VwPl5rRESQ-g";

fn opens(token: &str, algorithm: Algorithm) -> bool {
    signatures::install();
    let key = DecodingKey::from_rsa_components(MODULUS, "AQAB").unwrap();
    let mut validation = Validation::new(algorithm);
    validation.set_audience(&["a"]);
    decode::<Map<String, Value>>(token, &key, &validation).is_ok()
}

#[test]
fn signatures_with_rsa_are_checked() {
    assert!(opens(PLAIN, Algorithm::RS256));
    assert!(opens(PROBABILISTIC, Algorithm::PS256));
    for algorithm in [Algorithm::RS384, Algorithm::PS256, Algorithm::ES256] {
        assert!(!opens(PLAIN, algorithm), "{algorithm:?}");
    }
    let (message, signature) = PLAIN.rsplit_once('.').unwrap();
    let changed = message.replacen("ImFkYS", "ImV2ZS", 1);
    assert!(!opens(&format!("{changed}x.{signature}"), Algorithm::RS256));
    let other = PROBABILISTIC.rsplit_once('.').unwrap().1;
    assert!(!opens(&format!("{message}.{other}"), Algorithm::RS256));
}
