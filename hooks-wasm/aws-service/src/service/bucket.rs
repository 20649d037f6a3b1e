//! A bucket of S3, by S3's REST API. Its answers are XML.

use super::problem::Problem;
use super::{OWNER, Outside, Place, Tags};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_sdk::http::{Request, Response};
use quick_xml::escape::escape;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";

/// The region that a bucket is in if its creation names none. Its name is refused there.
const DEFAULT_REGION: &str = "us-east-1";

/// The part of the custom resource's `spec` that is about the bucket itself.
#[derive(Deserialize)]
pub struct Spec {
    #[serde(default)]
    versioning: bool,
}

pub struct Bucket<'a> {
    place: &'a Place,
    name: &'a str,
    spec: Spec,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(rename = "Code", default)]
    code: String,
    #[serde(rename = "Message", default)]
    message: String,
}

#[derive(Deserialize)]
struct Tagging {
    #[serde(rename = "TagSet", default)]
    set: TagSet,
}

#[derive(Default, Deserialize)]
struct TagSet {
    #[serde(rename = "Tag", default)]
    tags: Vec<Tag>,
}

#[derive(Deserialize)]
struct Tag {
    #[serde(rename = "Key")]
    key: String,
    #[serde(rename = "Value", default)]
    value: String,
}

#[derive(Deserialize)]
struct Versioning {
    #[serde(rename = "Status", default)]
    status: String,
}

impl<'a> Bucket<'a> {
    pub fn new(place: &'a Place, name: &'a str, spec: Spec) -> Self {
        Self { place, name, spec }
    }

    fn url(&self, query: &str) -> String {
        format!("{}/{}{query}", self.place.s3, self.name)
    }

    fn send(&self, request: &Request) -> Result<Response, Problem> {
        let response = request.send().map_err(|error| Problem::unsent(&self.shown(), &error))?;
        if (200..300).contains(&response.status) {
            return Ok(response);
        }
        let failure = quick_xml::de::from_str(&response.text());
        let Failure { code, message } = failure.unwrap_or(Failure { code: String::new(), message: String::new() });
        Err(Problem::answered(&self.shown(), response.status, &code, &message))
    }

    fn put(&self, query: &str, body: String) -> Result<(), Problem> {
        // S3 wants a checksum of what changes a bucket's properties.
        let checksum = STANDARD.encode(Sha256::digest(&body));
        let request = Request::put(&self.url(query)).header("x-amz-checksum-sha256", checksum);
        self.send(&request.header("content-type", "application/xml").body(body)).map(drop)
    }

    fn read<T: for<'de> Deserialize<'de>>(&self, query: &str) -> Result<T, Problem> {
        let response = self.send(&Request::get(&self.url(query)))?;
        quick_xml::de::from_str(&response.text())
            .map_err(|error| Problem::new("Failed", format!("{}: the answer to {query}: {error}", self.shown())))
    }
}

impl Outside for Bucket<'_> {
    const BORN_MARKED: bool = false;

    fn shown(&self) -> String {
        format!("bucket {}", self.name)
    }

    fn tags(&mut self) -> Result<Option<Tags>, Problem> {
        match self.read::<Tagging>("?tagging") {
            Ok(Tagging { set }) => Ok(Some(set.tags.into_iter().map(|tag| (tag.key, tag.value)).collect())),
            Err(problem) if problem.is("NoSuchTagSet") => Ok(Some(Tags::new())),
            Err(problem) if problem.is("NoSuchBucket") => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    fn create(&mut self, _: &str) -> Result<(), Problem> {
        let region = self.place.region;
        if region == DEFAULT_REGION {
            return self.put("", String::new());
        }
        self.put(
            "",
            format!(
                r#"<CreateBucketConfiguration xmlns="{NAMESPACE}"><LocationConstraint>{region}</LocationConstraint></CreateBucketConfiguration>"#
            ),
        )
    }

    fn mark(&self, mut tags: Tags, owner: Option<&str>) -> Result<(), Problem> {
        tags.remove(OWNER);
        tags.extend(owner.map(|owner| (OWNER.to_owned(), owner.to_owned())));
        let tag = |(key, value): (&String, &String)| {
            format!("<Tag><Key>{}</Key><Value>{}</Value></Tag>", escape(key), escape(value))
        };
        let tags: String = tags.iter().map(tag).collect();
        self.put("?tagging", format!(r#"<Tagging xmlns="{NAMESPACE}"><TagSet>{tags}</TagSet></Tagging>"#))
    }

    fn align(&mut self) -> Result<Vec<&'static str>, Problem> {
        let Versioning { status } = self.read("?versioning")?;
        let wanted = match (self.spec.versioning, status.as_str()) {
            (true, "Enabled") | (false, "" | "Suspended") => return Ok(Vec::new()),
            (true, _) => "Enabled",
            // Versioning cannot be taken back.
            (false, _) => "Suspended",
        };
        let body = format!(
            r#"<VersioningConfiguration xmlns="{NAMESPACE}"><Status>{wanted}</Status></VersioningConfiguration>"#
        );
        self.put("?versioning", body)?;
        Ok(vec!["versioning"])
    }

    fn delete(&self) -> Result<(), Problem> {
        let remedy = "delete its objects and their versions, or set spec.deletionPolicy to Orphan";
        match self.send(&Request::delete(&self.url(""))) {
            Err(problem) if !problem.is("NoSuchBucket") => Err(problem.remedy("BucketNotEmpty", remedy)),
            _ => Ok(()),
        }
    }

    fn place(&self) -> (String, String) {
        (format!("arn:aws:s3:::{}", self.name), self.url(""))
    }
}
