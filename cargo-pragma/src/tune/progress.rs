//! Live progress: one line that changes on a terminal, a line for each search elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::kernel::News;
use crate::cli::shell::Shell;
use crate::report;

/// The progress display of a run.
pub struct Progress<'a> {
    shell: &'a Shell,
    bar: Option<ProgressBar>,
    total: usize,
    done: usize,
}

impl<'a> Progress<'a> {
    /// A display for `total` searches.
    pub fn start(shell: &'a Shell, total: usize) -> Self {
        let bar = shell.wants_bars().then(|| {
            let bar = ProgressBar::new(total as u64);
            if let Ok(style) =
                ProgressStyle::with_template("{spinner:.green} [{pos}/{len}] {wide_msg} {elapsed}")
            {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Progress {
            shell,
            bar,
            total,
            done: 0,
        }
    }

    /// Something is being prepared.
    pub fn step(&self, verb: &str, text: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(format!("{verb} {text}")),
            None => self.shell.status(verb, text),
        }
    }

    /// News of a search of `kernel`.
    pub fn news(&self, kernel: &str, news: News<'_>) {
        let size = news.tune.to_string();
        match &self.bar {
            Some(bar) => {
                let best = news.best.map_or_else(String::new, |best| {
                    format!(", best {}", report::ratio(best.speedup))
                });
                bar.set_message(format!(
                    "{kernel} {} ({size}): {} tried{best}",
                    news.target, news.tried
                ));
            }
            None if news.tried == 0 => {
                self.shell.status(
                    "Searching",
                    format!("{kernel} for {} ({size})", news.target),
                );
            }
            None => {}
        }
    }

    /// Some searches are over.
    pub fn finish(&mut self, searches: usize) {
        self.done += searches;
        match &self.bar {
            Some(bar) => bar.inc(searches as u64),
            None => self
                .shell
                .status("Done", format!("{} of {} searches", self.done, self.total)),
        }
    }

    /// Prints without disturbing the live line.
    pub fn suspend(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
