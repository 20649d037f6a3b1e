//! HTTP requests of scripts, which their interpreters send. Each is taken from the budget, and sent as one of `wasi:http`
//! is.

use std::time::Duration;

use boathook_core::model::{HttpBody, HttpError, HttpHeader, HttpReason, HttpRequest, HttpResponse};
use futures::future::join_all;

use crate::{store::State, wit::interpreter::boathook::interpreter::http};

impl http::Host for State {
    async fn send(
        &mut self,
        requests: Vec<http::Request>,
    ) -> wasmtime::Result<Vec<Result<http::Response, http::Failure>>> {
        let requests: Vec<_> = requests.into_iter().map(request).collect();
        self.begin_call(requests.iter().map(|(request, _)| size_of::<HttpRequest>() + request.bytes()).sum())?;
        let sender = self.requests();
        let mut admitted = Vec::with_capacity(requests.len());
        for (request, time) in requests {
            admitted.push(match self.budget.take(1, request.bytes()) {
                Ok(()) => Ok((request, time)),
                Err(reached) => {
                    self.budget.refuse(reached)?;
                    Err(sender.not_sent(reached))
                }
            });
        }
        self.waiting_in = Some("http.send");
        let answers = admitted.into_iter().map(async |admitted| {
            let (request, time) = admitted?;
            sender.send(request, time).await
        });
        let answers = join_all(answers).await;
        self.waiting_in = None;
        Ok(answers.into_iter().map(|answer| answer.map(response).map_err(failure)).collect())
    }
}

fn request(request: http::Request) -> (HttpRequest, Option<Duration>) {
    let http::Request { method, url, headers, body, timeout } = request;
    let headers = headers.into_iter().map(|(name, value)| HttpHeader(name, HttpBody(value))).collect();
    (HttpRequest { method, url, headers, body: HttpBody(body) }, timeout.map(Duration::from_millis))
}

fn response(response: HttpResponse) -> http::Response {
    let HttpResponse { status, headers, body: HttpBody(body) } = response;
    let headers = headers.into_iter().map(|HttpHeader(name, HttpBody(value))| (name, value)).collect();
    http::Response { status, headers, body }
}

fn failure(error: HttpError) -> http::Failure {
    let reason = match error.reason {
        HttpReason::Denied => http::Reason::Denied,
        HttpReason::Address => http::Reason::Address,
        HttpReason::NotSent => http::Reason::NotSent,
        HttpReason::Limit => http::Reason::Limit,
        HttpReason::Name => http::Reason::Name,
        HttpReason::Connection => http::Reason::Connection,
        HttpReason::Tls => http::Reason::Tls,
        HttpReason::Timeout => http::Reason::Timeout,
        HttpReason::Invalid => http::Reason::Invalid,
        HttpReason::Credential => http::Reason::Credential,
    };
    http::Failure { reason, message: error.message }
}
